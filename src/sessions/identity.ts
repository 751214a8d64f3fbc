import { basename, isAbsolute, relative, resolve } from "node:path";
import type { AgentTemplate, HookClaim } from "../agents/index.ts";
import type { SessionPatch, SessionRecord } from "./session-store.ts";

/** Which session a live process runs: the session's record, under the id that the agent uses. */
export interface IdentityState {
  readonly record: SessionRecord;
  /** Whether the agent gave or used this id. A session that was just started in the terminal has no transcript yet to prove it. */
  readonly named: boolean;
  /** The agent reported that its session ended while its process lives: the next id that it reports is the successor's. */
  readonly awaitsSuccessor: boolean;
}

/** What happened to a session's identity. */
export type IdentityMessage =
  /** A hook used the session's id; `ended` when it reported the session's end. */
  | { readonly kind: "named"; readonly ended: boolean }
  /** The process runs this session from now on. */
  | { readonly kind: "taken"; readonly record: SessionRecord }
  /** The store now has this change of the record. */
  | { readonly kind: "patched"; readonly patch: SessionPatch };

export function newIdentity(record: SessionRecord): IdentityState {
  return { record, named: false, awaitsSuccessor: false };
}

/** The next identity. Pure. */
export function nextIdentity(state: IdentityState, message: IdentityMessage): IdentityState {
  switch (message.kind) {
    case "named": {
      const awaitsSuccessor = state.awaitsSuccessor || message.ended;
      // Every hook line has the id; only the first one is new information.
      return state.named && awaitsSuccessor === state.awaitsSuccessor
        ? state
        : { ...state, named: true, awaitsSuccessor };
    }
    case "taken":
      return { record: message.record, named: true, awaitsSuccessor: false };
    case "patched":
      return { ...state, record: { ...state.record, ...message.patch } };
  }
}

/** Whether the id is a placeholder until the agent reports its own. */
export function isProvisional(
  { record, named }: IdentityState,
  { idRegime }: Pick<AgentTemplate, "idRegime">,
): boolean {
  return idRegime === "discovered" && !named && record.transcriptPath === null && record.aliases.length === 0;
}

/**
 * Whether a hook line with another id may move the session to that id.
 * @param runsIt whether the process runs that session, according to the agent's own files; null if they do not show it
 */
export function mayTake(
  state: IdentityState,
  { event }: Pick<HookClaim, "event">,
  { runsIt, template }: { readonly runsIt: boolean | null; readonly template: Pick<AgentTemplate, "idRegime"> },
): boolean {
  if (runsIt === false) return false;
  if (isProvisional(state, template)) return true;
  // An agent that switches to another session may not report the end of the first one. Then its own files must prove the switch.
  return event.kind === "session_start" && (state.awaitsSuccessor || runsIt === true);
}

/**
 * The effect of a hook line. Any process of the agent's user can write to the inbox, so each line is only a claim:
 * `own` is about this session, `names_id` says that this process's session has another id (to be verified against the
 * agent's own files), `refused` must change nothing.
 */
export type Verdict = "own" | "names_id" | "refused";

/** Judges one claim against the session whose inbox it came from. Pure. */
export function judgeClaim(
  claim: HookClaim,
  session: Pick<SessionRecord, "sessionId" | "dir"> & { readonly transcriptRoots: readonly string[] },
): Verdict {
  if (
    claim.transcriptPath !== null &&
    !isTranscriptOf(claim.transcriptPath, claim.agentSessionId, session.transcriptRoots)
  ) {
    return "refused";
  }
  if (claim.agentSessionId === session.sessionId) return "own";
  if (claim.cwd === null || resolve(claim.cwd) !== session.dir) return "refused";
  return "names_id";
}

/** Whether a path is under one of the agent's transcript roots and its name contains the session's id. The file may not exist yet. */
export function isTranscriptOf(path: string, agentSessionId: string, roots: readonly string[]): boolean {
  if (!isAbsolute(path) || !basename(path).includes(agentSessionId)) return false;
  return roots.some((root) => {
    const inside = relative(resolve(root), resolve(path));
    return inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
  });
}
