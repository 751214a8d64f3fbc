import { expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import type { HookClaim } from "../agents/template.ts";
import { isProvisional, judgeClaim, mayTake, newIdentity, nextIdentity } from "./identity.ts";

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

const discovered = { idRegime: "discovered" } as const;

test("an id is a placeholder until the agent used it, or a transcript or an alias proves it", () => {
  const fresh = newIdentity(sessionRecord({ transcriptPath: null, aliases: [] }));
  expect(isProvisional(fresh, discovered)).toBe(true);
  expect(isProvisional(fresh, { idRegime: "assigned" })).toBe(false);
  expect(isProvisional(nextIdentity(fresh, { kind: "named", ended: false }), discovered)).toBe(false);
  expect(isProvisional(nextIdentity(fresh, { kind: "patched", patch: { transcriptPath: "/t" } }), discovered)).toBe(
    false,
  );
  expect(isProvisional(newIdentity(sessionRecord({ transcriptPath: null, aliases: ["old"] })), discovered)).toBe(false);
});

test.each([
  ["a placeholder takes the agent's id by any line", { placeholder: true }, "turn_ended", null, true],
  ["a session that another process runs is never taken", { placeholder: true }, "turn_ended", false, false],
  ["a session that has its id stays, if nothing says that it ended", {}, "session_start", null, false],
  ["the agent's files say that it moved", {}, "session_start", true, true],
  ["a line in the middle of another session moves nothing", {}, "turn_ended", true, false],
  ["the agent reported the end of the first one", { ended: true }, "session_start", null, true],
  ["the same, but another process runs the next one", { ended: true }, "session_start", false, false],
] as const)("%s", (_title, is, kind, runsIt, expected) => {
  const { placeholder, ended } = { placeholder: false, ended: false, ...is };
  const record = sessionRecord({ transcriptPath: placeholder ? null : "/t", aliases: [] });
  const fresh = newIdentity(record);
  const state = ended ? nextIdentity(fresh, { kind: "named", ended }) : fresh;
  const event = kind === "session_start" ? ({ kind, reason: "clear" } as const) : ({ kind } as const);
  expect(mayTake(state, { event }, { runsIt, template: discovered })).toBe(expected);
});

test("the end that led to a successor does not count for the successor's own successor", () => {
  const ended = nextIdentity(newIdentity(sessionRecord()), { kind: "named", ended: true });
  expect(ended.awaitsSuccessor).toBe(true);
  const record = sessionRecord({ sessionId: "next" });
  expect(nextIdentity(ended, { kind: "taken", record })).toEqual({ record, named: true, awaitsSuccessor: false });
});

test("a line that says nothing new leaves the identity as it is, so that no one who waits is woken", () => {
  const named = nextIdentity(newIdentity(sessionRecord()), { kind: "named", ended: false });
  expect(nextIdentity(named, { kind: "named", ended: false })).toBe(named);
  expect(nextIdentity(named, { kind: "named", ended: true })).not.toBe(named);
});
