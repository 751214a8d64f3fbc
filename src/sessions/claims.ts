import { basename, isAbsolute, relative, resolve } from "node:path";
import type { HookClaim } from "../agents/index.ts";

/**
 * What a hook line may do. The inbox is written by the same user as the agent, so each line is only a claim:
 * `own` speaks of this session, `names_id` says that this process's session has another id (to be verified against the
 * agent's own files), `refused` must change nothing.
 */
export type Verdict = "own" | "names_id" | "refused";

/** Judges one claim against the session whose inbox it came from. Pure. */
export function judgeClaim(
  claim: HookClaim,
  session: { readonly sessionId: string; readonly dir: string; readonly transcriptRoots: readonly string[] },
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

/** Whether a path lies under one of the agent's transcript roots and is named for this session. Lexical: the file may not exist yet. */
export function isTranscriptOf(path: string, agentSessionId: string, roots: readonly string[]): boolean {
  if (!isAbsolute(path) || !basename(path).includes(agentSessionId)) return false;
  return roots.some((root) => {
    const inside = relative(resolve(root), resolve(path));
    return inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
  });
}
