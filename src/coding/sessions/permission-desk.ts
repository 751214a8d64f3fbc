import type { ChangeSignal } from "../../core/change-signal.ts";
import type { Clock } from "../../core/clock.ts";
import type { HookDecision, PermissionHooks } from "../permissions/permission-hooks.ts";
import type { OpenPermission } from "./activity.ts";

// A hook that lost its gateway is back within a fraction of this.
const hookBackMs = 2_000;

/** The open permissions of one live session, and the hooks that wait for their decisions. */
export class PermissionDesk {
  readonly #deps: {
    readonly hooks: PermissionHooks;
    readonly clock: Clock;
    readonly changes: ChangeSignal;
    /** How long a hook waits; then it says nothing, and the agent's own dialog stands. */
    readonly limitMs: number;
  };
  /** What ends the wait of each. */
  readonly #open = new Map<string, () => void>();
  readonly #deciding = new Set<string>();

  constructor(deps: {
    readonly hooks: PermissionHooks;
    readonly clock: Clock;
    readonly changes: ChangeSignal;
    readonly limitMs: number;
  }) {
    this.#deps = deps;
  }

  /** What is open now: hooks of anything else are let go. */
  update(permissions: readonly OpenPermission[]): void {
    const ids = new Set(permissions.map(({ permissionId }) => permissionId));
    for (const permissionId of this.#open.keys()) if (!ids.has(permissionId)) this.#close(permissionId);
    for (const permission of permissions) if (!this.#open.has(permission.permissionId)) this.#expect(permission);
  }

  #expect({ permissionId, askedAt }: OpenPermission): void {
    const { hooks, clock, changes, limitMs } = this.#deps;
    const leftMs = Date.parse(askedAt) + limitMs - clock.now();
    if (leftMs <= 0) {
      hooks.forget(permissionId);
      this.#open.set(permissionId, () => undefined);
      return;
    }
    const cancel = clock.after(leftMs, () => {
      hooks.forget(permissionId);
      changes.notify();
    });
    this.#open.set(permissionId, cancel);
    hooks.expect(permissionId, () => changes.notify());
  }

  #close(permissionId: string): void {
    this.#open.get(permissionId)?.();
    this.#open.delete(permissionId);
    this.#deps.hooks.forget(permissionId);
  }

  isAnswerable(permissionId: string): boolean {
    return this.#deps.hooks.isWaiting(permissionId) && !this.#deciding.has(permissionId);
  }

  /** @returns whether the agent's hook passed it on; false also when another answer is on its way */
  async decide(permissionId: string, decision: HookDecision): Promise<boolean> {
    const { hooks, changes } = this.#deps;
    if (this.#deciding.has(permissionId)) return false;
    this.#deciding.add(permissionId);
    try {
      await changes.until(() => hooks.isWaiting(permissionId), { timeoutMs: hookBackMs });
      return await hooks.decide(permissionId, decision);
    } finally {
      this.#deciding.delete(permissionId);
    }
  }

  /** Stops expecting; hooks that wait try the next gateway. */
  close(): void {
    for (const cancel of this.#open.values()) cancel();
    this.#open.clear();
  }

  /** The agent is gone: no hook of it waits any longer. */
  dismissAll(): void {
    this.update([]);
  }
}
