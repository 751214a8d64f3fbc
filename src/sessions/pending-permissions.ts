import type { HookDecision } from "../agents/index.ts";
import type { ChangeSignal } from "../core/change-signal.ts";
import type { Clock } from "../core/clock.ts";
import type { OpenPermission } from "./activity.ts";
import type { PermissionHooks } from "./permission-hooks.ts";

/** What a {@link PendingPermissions} needs. */
export interface PendingPermissionsDeps {
  readonly hooks: PermissionHooks;
  readonly clock: Clock;
  readonly changes: ChangeSignal;
  /** How long a hook waits; then it says nothing, and the agent's own dialog stands. */
  readonly limitMs: number;
}

interface Wait {
  /** Its hook has written its line, or has lost an earlier gateway, and is due any moment. */
  readonly dueUntil: number;
  readonly cancel: () => void;
}

// A hook asks a few milliseconds after its line is there, and after a lost gateway every 200 ms.
const dueMs = 2_000;
/** Its hook was let go: it is answered in the terminal only. */
const leftToTerminal: Wait = { dueUntil: 0, cancel: () => undefined };

/** The open permissions of one live session, and the hooks that wait for their decisions. */
export class PendingPermissions {
  readonly #deps: PendingPermissionsDeps;
  readonly #open = new Map<string, Wait>();
  readonly #deciding = new Map<string, Promise<boolean>>();
  /** How many want the questions in the terminal. */
  #terminalAskers = 0;

  constructor(deps: PendingPermissionsDeps) {
    this.#deps = deps;
  }

  /** What is open now: hooks of anything else are let go. */
  update(permissions: readonly OpenPermission[]): void {
    const ids = new Set(permissions.map(({ permissionId }) => permissionId));
    for (const permissionId of this.#open.keys()) if (!ids.has(permissionId)) this.#close(permissionId);
    for (const permission of permissions) if (!this.#open.has(permission.permissionId)) this.#expect(permission);
  }

  /**
   * Whether somebody sits at the terminal and wants to be asked there: then hooks that wait are let go at once, and later ones as they
   * come. Counted: as often as it was wanted it has to be given back. What was let go stays in the terminal.
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

  /** Whether somebody sits at the terminal who wants to be asked there. */
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
    const cancelDue = clock.after(dueMs, () => changes.notify()); // one that did not come is missed from now on
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

  /** Whether an answer is on its way to the hook. */
  isDeciding(permissionId: string): boolean {
    return this.#deciding.has(permissionId);
  }

  #isDue(permissionId: string): boolean {
    return (this.#open.get(permissionId)?.dueUntil ?? 0) > this.#deps.clock.now();
  }

  /** @returns whether the agent's hook passed it on; false after another answer that was on its way */
  async decide(permissionId: string, decision: HookDecision): Promise<boolean> {
    const underWay = this.#deciding.get(permissionId);
    if (underWay !== undefined) return underWay.then(() => false);
    const deciding = this.#tell(permissionId, decision).finally(() => this.#deciding.delete(permissionId));
    this.#deciding.set(permissionId, deciding);
    return deciding;
  }

  async #tell(permissionId: string, decision: HookDecision): Promise<boolean> {
    const { hooks, changes } = this.#deps;
    const there = (): boolean => hooks.isWaiting(permissionId) || !this.#isDue(permissionId);
    await changes.until(there, { timeoutMs: dueMs });
    return hooks.decide(permissionId, decision);
  }

  /** Stops expecting; hooks that wait try the next gateway. */
  close(): void {
    for (const { cancel } of this.#open.values()) cancel();
    this.#open.clear();
  }

  /** The agent is gone: no hook of it waits any longer. */
  dismissAll(): void {
    this.update([]);
  }
}
