import { AllowedFolders, type Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import type { FolderScope } from "../wire/access.ts";

/**
 * The right to a request under way or an open socket: who the caller is, what they hold, and every folder that the folder rule allowed
 * them meanwhile. All of it is checked again every two seconds, and before input is taken.
 */
export interface Hold {
  /** The caller. Notes each folder that the folder rule allows. */
  readonly principal: Principal;
  /** Aborted when the right is lost, the client goes away or the gateway stops. Its reason is a PosternError. */
  readonly signal: AbortSignal;
  /** Whether it was aborted because the right was lost. */
  readonly isLost: boolean;
  /** Calls `act` while the right is known to be held: at once when that was checked a moment ago, else after a check. In order. */
  whenHeld(act: () => void): void;
  /** Checks now. @throws PosternError the reason when the right is lost */
  check(): Promise<void>;
  /** Stops checking. Idempotent. */
  end(reason: PosternError): void;
}

/** Rights to everything that is open. */
export interface Holds {
  open(principal: Principal): Hold;
  /** Checks them all, because rights changed. Resolves when all are checked, at the latest after a second. */
  recheck(): Promise<void>;
  /** Ends them all: the gateway stops. */
  close(reason: PosternError): void;
}

export interface HoldsDeps {
  /** The same caller looked up again. @throws PosternError `unauthenticated` */
  readonly refresh: (principal: Principal) => Promise<Principal>;
  /** Whether the folder rule allows a directory, which may be gone. */
  readonly isVisible: IsVisible;
  readonly clock?: Clock;
}

export type IsVisible = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;

// What is lost ends within five seconds.
const recheckMs = 2_000;
/** For how long a check counts for what a client sends: a person types a few keys in it, and cannot revoke and look any faster. */
const freshMs = 250;
/** A store that does not answer keeps no change of rights waiting. */
const recheckAllMs = 1_000;

export function createHolds({ refresh, isVisible, clock = systemClock }: HoldsDeps): Holds {
  const open = new Set<{ end(reason: PosternError): void; renew(): Promise<void> }>();

  /** @throws PosternError when the caller may no longer do what they were allowed to */
  async function verify(given: Principal, allowed: AllowedFolders): Promise<void> {
    const now = await refresh(given);
    const taken = [...given.scopes].find((scope) => !now.scopes.has(scope));
    if (taken !== undefined) {
      throw new PosternError("insufficient_scope", `The caller no longer holds the scope ${taken}.`, {
        details: { scope: taken },
      });
    }
    if (JSON.stringify(now.folders) !== JSON.stringify(given.folders)) throw folderLost();
    for (const { dir, scope } of allowed.list()) {
      if (!(await isVisible(dir, { scope, within: now.folders }))) throw folderLost();
    }
  }

  return {
    open(given) {
      const allowed = new AllowedFolders();
      const principal: Principal = { ...given, allowed };
      const ending = new AbortController();
      const { signal } = ending;
      const waiting: (() => void)[] = [];
      let lost = false;
      let checkedAt = clock.now();
      /** Counts changes of rights: a check that began before one says nothing about it. */
      let changes = 0;
      let checking: Promise<void> | null = null;
      let cancel = (): void => undefined;

      function end(reason: PosternError): void {
        if (!open.delete(hold)) return;
        cancel();
        waiting.length = 0;
        ending.abort(reason);
      }

      async function checkOnce(): Promise<void> {
        const [at, seen] = [clock.now(), changes];
        try {
          await verify(given, allowed);
        } catch (error) {
          // Only what says so ends it: a store that does not answer for a moment does not, and nothing is revoked in it meanwhile.
          if (isRefusal(error) && open.has(hold)) {
            lost = true;
            end(error);
          }
        }
        if (seen === changes) checkedAt = at;
      }

      /** One check at a time; a change of rights during one begins another. */
      function check(): Promise<void> {
        checking ??= (async () => {
          let seen: number;
          do {
            seen = changes;
            await checkOnce();
          } while (seen !== changes && open.has(hold));
          checking = null;
          for (const act of waiting.splice(0)) act();
        })();
        return checking;
      }

      function checkLater(): void {
        cancel = clock.after(recheckMs, () => void check().then(() => open.has(hold) && checkLater()));
      }

      const hold = {
        principal,
        signal,
        get isLost() {
          return lost;
        },
        whenHeld(act: () => void): void {
          if (!open.has(hold)) return;
          if (checking === null && clock.now() - checkedAt <= freshMs) return act();
          waiting.push(act);
          void check();
        },
        async check(): Promise<void> {
          await check();
          if (lost) throw signal.reason;
        },
        renew(): Promise<void> {
          changes += 1;
          checkedAt = Number.NEGATIVE_INFINITY;
          return check();
        },
        end,
      };
      open.add(hold);
      checkLater();
      return hold;
    },

    async recheck() {
      const checks = Promise.all([...open].map((hold) => hold.renew()));
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(recheckAllMs, resolve);
      await Promise.race([checks, late]).finally(cancel);
    },

    close(reason) {
      for (const hold of open) hold.end(reason);
    },
  };
}

function isRefusal(error: unknown): error is PosternError {
  return hasCode(error, "unauthenticated") || hasCode(error, "insufficient_scope") || hasCode(error, "dir_not_allowed");
}

function folderLost(): PosternError {
  return new PosternError("dir_not_allowed", "The folder is no longer one that the caller may use.");
}
