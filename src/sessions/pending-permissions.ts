import type { HookDecision } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import type { OpenPermission } from "./activity.ts";
import type { PermissionHooks } from "./permission-hooks.ts";
export interface PendingPermissionsDeps {
  readonly hooks: PermissionHooks;
  readonly clock: Clock;
  readonly changes: ChangeSignal;
  /** How long a hook waits; then it gives no decision, and the agent shows its own dialog. */
  readonly limitMs: number;
}

interface Wait {
  /** Its hook has written its line, or lost its connection to an earlier gateway, and will connect any moment. */
  readonly dueUntil: number;
  readonly cancel: () => void;
}

// A hook connects a few milliseconds after it writes its line. If it loses its gateway, it tries again every 200 ms.
const dueMs = 2_000;
/** Its hook was released, so it can be answered only in the terminal. */
const leftToTerminal: Wait = { dueUntil: 0, cancel: () => undefined };

/** The open permissions of one live session, and the hooks that wait for their decisions. */
export class PendingPermissions {
  readonly #deps: PendingPermissionsDeps;
  readonly #open = new Map<string, Wait>();
  readonly #deciding = new Map<string, Promise<boolean>>();
  /** How many viewers want questions asked in the terminal. */
  #terminalAskers = 0;

  constructor(deps: PendingPermissionsDeps) {
    this.#deps = deps;
  }

  /** Sets the open permissions: hooks of all others are released. */
  update(permissions: readonly OpenPermission[]): void {
    const ids = new Set(permissions.map(({ permissionId }) => permissionId));
    for (const permissionId of this.#open.keys()) if (!ids.has(permissionId)) this.#close(permissionId);
    for (const permission of permissions) if (!this.#open.has(permission.permissionId)) this.#expect(permission);
  }

  /**
   * Turns questions in the agent's terminal on or off. While on, waiting hooks are released immediately, and later ones as they connect. It
   * turns off after as many calls with false as with true. Released questions stay in the terminal.
   */
  askInTerminal(on: boolean): void {
    this.#terminalAskers = Math.max(0, this.#terminalAskers + (on ? 1 : -1));
    if (!on || this.#terminalAskers > 1) return;
    for (const [permissionId, { cancel }] of this.#open) {
      cancel();
      this.#open.set(permissionId, leftToTerminal);
      this.#deps.hooks.forget(permissionId);
    }
    this.#deps.changes.notify();
  }

  /** Whether questions are asked in the agent's terminal. */
  get isLeftToViewers(): boolean {
    return this.#terminalAskers > 0;
  }

  #expect({ permissionId, askedAt }: OpenPermission): void {
    const { hooks, clock, changes, limitMs } = this.#deps;
    if (this.#terminalAskers > 0) {
      this.#open.set(permissionId, leftToTerminal);
      return hooks.forget(permissionId);
    }
    const now = clock.now();
    const leftMs = Date.parse(askedAt) + limitMs - now;
    const cancelLimit = clock.after(Math.max(0, leftMs), () => {
      hooks.forget(permissionId);
      changes.notify();
    });
    const cancelDue = clock.after(dueMs, () => changes.notify()); // a hook that has not connected by now counts as missing
    const cancel = (): void => {
      cancelLimit();
      cancelDue();
    };
    this.#open.set(permissionId, { cancel, dueUntil: now + Math.min(dueMs, leftMs) });
    if (leftMs > 0) hooks.expect(permissionId, () => changes.notify());
  }

  #close(permissionId: string): void {
    this.#open.get(permissionId)?.cancel();
    this.#open.delete(permissionId);
    this.#deps.hooks.forget(permissionId);
  }

  isAnswerable(permissionId: string): boolean {
    if (this.#deciding.has(permissionId) || this.#open.get(permissionId) === leftToTerminal) return false;
    return this.#deps.hooks.isWaiting(permissionId) || this.#isDue(permissionId);
  }

  /** Whether an answer is being sent to the hook. */
  isDeciding(permissionId: string): boolean {
    return this.#deciding.has(permissionId);
  }

  #isDue(permissionId: string): boolean {
    return (this.#open.get(permissionId)?.dueUntil ?? 0) > this.#deps.clock.now();
  }

  /** @returns whether the agent's hook passed it on; false if another answer was already on its way */
  async decide(permissionId: string, decision: HookDecision): Promise<boolean> {
    const underWay = this.#deciding.get(permissionId);
    if (underWay !== undefined) return underWay.then(() => false);
    const deciding = this.#send(permissionId, decision).finally(() => this.#deciding.delete(permissionId));
    this.#deciding.set(permissionId, deciding);
    return deciding;
  }

  /** Waits for the hook of a permission that is not shown yet. @returns whether it is there */
  async awaitHook(permissionId: string): Promise<boolean> {
    const { hooks, changes } = this.#deps;
    hooks.expect(permissionId, () => changes.notify());
    await changes.until(() => hooks.isWaiting(permissionId), { timeoutMs: dueMs });
    return hooks.isWaiting(permissionId);
  }

  /** Answers a permission that is not shown. @returns whether the agent's hook passed it on; if not, the permission must be shown */
  async decideUnshown(permissionId: string, decision: HookDecision): Promise<boolean> {
    const taken = await this.#deps.hooks.decide(permissionId, decision);
    if (taken) this.#deps.hooks.forget(permissionId);
    return taken;
  }

  async #send(permissionId: string, decision: HookDecision): Promise<boolean> {
    const { hooks, changes } = this.#deps;
    const there = (): boolean => hooks.isWaiting(permissionId) || !this.#isDue(permissionId);
    await changes.until(there, { timeoutMs: dueMs });
    return hooks.decide(permissionId, decision);
  }

  /** Stops waiting for hooks; hooks that wait try the next gateway. */
  close(): void {
    for (const { cancel } of this.#open.values()) cancel();
    this.#open.clear();
  }

  /** The agent is gone: none of its hooks waits any longer. */
  dismissAll(): void {
    this.update([]);
  }
}
