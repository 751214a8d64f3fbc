import type { Accounts, Principal } from "../accounts/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Events } from "../events/index.ts";
import { createPush, type Push, type Subscriber } from "../push/index.ts";
import type { Coding } from "./coding.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

export interface OpenPushDeps extends Pick<Stores, "db" | "secrets" | "fetch"> {
  readonly config: Pick<Config, "auth">;
  readonly accounts: Pick<Accounts, "refresh" | "owner">;
  readonly coding: Pick<Coding, "read" | "answerPermission">;
  readonly events: Pick<Events, "stream">;
  readonly baseUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Notifications in browsers, with the sessions and callers of this gateway. */
export function openPush(deps: OpenPushDeps): Push {
  const { accounts, coding, config, events } = deps;
  return createPush({
    ...deps,
    subject: () => contactOf(deps.baseUrl()),
    async callerOf(subscriber, { acting }) {
      // Authentication was switched on or off since, so the subscriber's kind of credential is no longer valid.
      if ((subscriber.kind === "open") !== (config.auth === "none")) return null;
      try {
        return await accounts.refresh(principalOf(subscriber), { notesUse: acting });
      } catch (error) {
        if (hasCode(error, "unauthenticated")) return null;
        throw error;
      }
    },
    async readSession(sessionId, caller, signal) {
      try {
        return await coding.read({ sessionId, last: 1, blocks: false }, caller, signal);
      } catch (error) {
        if (hasCode(error, "session_not_found")) return null;
        throw error;
      }
    },
    async answer({ sessionId, permissionId, decision }, caller) {
      await coding.answerPermission({ sessionId, permissionId, decision }, caller);
    },
    follow: ({ after, signal }) => events.stream({ after, sessionIds: null, within: null, signal }),
  });
}

/** The identity that {@link Accounts.refresh} needs; it reads the rest from the store. */
function principalOf({ accountId, kind, browserSessionId, tokenId }: Subscriber): Principal {
  return {
    ...{ accountId, kind, browserSessionId, tokenId, scopes: new Set<never>(), folders: [] },
    ...{ app: null, resource: "all", expiresAt: null },
  };
}

/** The address that push services may contact about problems. Apple's service refuses local addresses. */
function contactOf(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl);
  const isPublic = protocol === "https:" && hostname.includes(".") && !/^[\d.]+$/.test(hostname);
  return isPublic ? baseUrl : "mailto:postern@example.com";
}

/** Answering a permission request here withdraws its notifications: while another request is open, no event reports the answer. */
export function withdrawingAnswered(coding: Coding, push: Push): Coding {
  return {
    ...coding,
    async answerPermission(input, caller) {
      const answered = await coding.answerPermission(input, caller);
      await push.sessionChanged(answered.sessionId);
      return answered;
    },
  };
}
