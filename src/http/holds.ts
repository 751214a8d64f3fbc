import { AllowedFolders, type Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import type { FolderScope } from "../wire/access.ts";

/**
 * A caller's access to a running request or open socket: credentials, scopes, and every folder used so far. It is checked again every two
 * seconds and before input is processed.
 */
export interface Hold {
  /** The caller. Records each folder that the folder rule allows. */
  readonly principal: Principal;
  /** Aborted with a PosternError when access is lost, the client disconnects or the gateway stops. */
  readonly signal: AbortSignal;
  /** Whether it was aborted because access was lost. */
  readonly isLost: boolean;
  /** Calls `act` if access is valid: at once if the last check is recent, otherwise after a new check. Keeps the order of calls. */
  whenHeld(act: () => void): void;
  /** Checks now. @throws PosternError the reason if access is lost */
  check(): Promise<void>;
  /** Stops checking. Idempotent. */
  end(reason: PosternError): void;
}

/** Access of all open requests and sockets. */
export interface Holds {
  open(principal: Principal): Hold;
  /** Checks all after a change of access rights. Resolves when done, at the latest after one second. */
  recheck(): Promise<void>;
  /** Ends all when the gateway stops. */
  close(reason: PosternError): void;
}

export interface HoldsDeps {
  /** Looks up the caller again. @throws PosternError `unauthenticated` */
  readonly refresh: (principal: Principal) => Promise<Principal>;
  /** Whether the folder rule allows a directory, existing or not. */
  readonly isVisible: IsVisible;
  readonly clock?: Clock;
}

export type IsVisible = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;

// Revoked access ends within five seconds.
const recheckMs = 2_000;
/** How long a check is valid for input: long enough for a few keys, but shorter than it takes to revoke access and test that it ended. */
const freshMs = 250;
/** Limits the wait for a database that does not respond. */
const recheckAllMs = 1_000;

export function createHolds({ refresh, isVisible, clock = systemClock }: HoldsDeps): Holds {
  const open = new Set<{ end(reason: PosternError): void; renew(): Promise<void> }>();

  /** @throws PosternError if the caller lost access */
  async function verify(given: Principal, allowed: AllowedFolders): Promise<void> {
    const now = await refresh(given);
    const taken = [...given.scopes].find((scope) => !now.scopes.has(scope));
    if (taken !== undefined) {
      throw new PosternError("insufficient_scope", `The scope ${taken} was revoked.`, {
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
      /** Counts changes of access rights: a check that started before a change is out of date. */
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
          // Only a refusal ends access. While the database is unavailable, no access can be revoked in it.
          if (isRefusal(error) && open.has(hold)) {
            lost = true;
            end(error);
          }
        }
        if (seen === changes) checkedAt = at;
      }

      /** Runs one check at a time, and another one after a change during a check. */
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
  return new PosternError("dir_not_allowed", "Access to the folder was revoked.");
}
