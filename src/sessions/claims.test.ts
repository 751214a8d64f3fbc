import { expect, test } from "vitest";
import type { HookClaim } from "../agents/template.ts";
import { judgeClaim } from "./claims.ts";

const own = "11111111-1111-4111-8111-111111111111";
const other = "22222222-2222-4222-8222-222222222222";
const session = { sessionId: own, dir: "/code/project", transcriptRoots: ["/home/me/.agent/projects"] };

function claim(change: Partial<HookClaim> = {}): HookClaim {
  return {
    event: { kind: "turn_ended" },
    agentSessionId: own,
    transcriptPath: `/home/me/.agent/projects/-code-project/${own}.jsonl`,
    cwd: "/code/project",
    ...change,
  };
}

test("a line of the session's own id and transcript is its own", () => {
  expect(judgeClaim(claim(), session)).toBe("own");
  expect(judgeClaim(claim({ transcriptPath: null }), session)).toBe("own");
  expect(judgeClaim(claim({ cwd: "/code/project/deeper" }), session), "the agent may change its directory").toBe("own");
});

test("a transcript outside the agent's roots, or of another name, is refused", () => {
  for (const transcriptPath of [
    `/etc/${own}.jsonl`,
    `/home/me/.agent/projects/../secrets/${own}.jsonl`,
    `/home/me/.agent/projects-of-others/${own}.jsonl`,
    `/home/me/.agent/projects/-code-project/${other}.jsonl`,
    `projects/${own}.jsonl`,
    "/home/me/.agent/projects",
  ]) {
    expect(judgeClaim(claim({ transcriptPath }), session), transcriptPath).toBe("refused");
  }
});

test("another id is only a name to be verified, and not even that from another directory", () => {
  const transcriptPath = `/home/me/.agent/projects/-code-project/${other}.jsonl`;
  expect(judgeClaim(claim({ agentSessionId: other, transcriptPath }), session)).toBe("names_id");
  expect(judgeClaim(claim({ agentSessionId: other, transcriptPath, cwd: "/work" }), session)).toBe("refused");
  expect(judgeClaim(claim({ agentSessionId: other, transcriptPath, cwd: null }), session)).toBe("refused");
});
