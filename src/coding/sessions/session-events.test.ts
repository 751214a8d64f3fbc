import { expect, test } from "vitest";
import { createFakeClock } from "../../../test/support/fake-clock.ts";
import type { NewSessionEvent } from "../../wire/events.ts";
import type { EventPublisher } from "../ports.ts";
import type { TranscriptSummary } from "../transcripts/transcript.ts";
import { type ActivityState, initialActivity, type OpenPermission } from "./activity.ts";
import { createSessionEvents } from "./session-events.ts";
import type { ToldSession } from "./session-news.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

const clock = createFakeClock();

function recordOf(differs: Partial<SessionRecord> = {}): SessionRecord {
  return {
    sessionId: "s1",
    aliases: [],
    agent: "claude-code",
    dir: "/srv/code",
    title: null,
    model: null,
    permissionMode: "ask",
    transcriptPath: null,
    launchId: "l1",
    terminalId: "t1",
    createdAt: clock.now(),
    updatedAt: clock.now(),
    closedAt: null,
    exitCode: null,
    signal: null,
    lastScreen: null,
    continuedBy: null,
    ...differs,
  };
}

function permission(permissionId: string): OpenPermission {
  return {
    permissionId,
    kind: "permission",
    tool: "Bash",
    input: { command: "cat secret" },
    askedAt: "2025-01-01T00:00:00.000Z",
    answerable: true,
    callKey: "k",
    subagent: null,
  };
}

/** A publisher that remembers, and a session whose state the test sets. */
function setUp(memos = new Map<string, string>()) {
  const told: NewSessionEvent[] = [];
  const publisher: EventPublisher = {
    publish({ events, memos: changed }) {
      told.push(...events);
      for (const [sessionId, memo] of changed) {
        if (memo === null) memos.delete(sessionId);
        else memos.set(sessionId, memo);
      }
    },
    flush: async () => undefined,
    memoOf: async (sessionId) => memos.get(sessionId) ?? null,
    memos: async () => new Map(memos),
  };
  const records = new Map<string, SessionRecord>();
  const store: Pick<SessionStore, "find"> = { find: async (sessionId) => records.get(sessionId) ?? null };
  const events = createSessionEvents({ publisher, store, clock });
  const session: { -readonly [Key in keyof ToldSession]: ToldSession[Key] } = {
    record: recordOf(),
    state: initialActivity,
    outbox: { unconfirmed: null },
    transcriptSummary: null,
    provisional: false,
  };
  /** What was told since the last call. */
  const news = (): readonly NewSessionEvent[] => told.splice(0);
  const kinds = (): readonly string[] =>
    news().map((event) => (event.kind === "session.activity" ? `${event.kind} ${event.activity}` : event.kind));
  return { events, session, records, memos, news, kinds };
}

type SetUp = ReturnType<typeof setUp>;

const working: Partial<ActivityState> = { activity: "working", started: true, turnRuns: true, promptsTaken: 1 };
const idle: Partial<ActivityState> = { activity: "idle", turnRuns: false, turnsEnded: 1 };

function move(
  { session }: SetUp,
  teller: ReturnType<SetUp["events"]["tell"]>,
  state: Partial<ActivityState>,
  at: number,
) {
  session.state = { ...session.state, ...state };
  teller.moved(at);
  teller.look();
}

function openTranscript(kind: "open" | "ended"): TranscriptSummary {
  return {
    path: "/t",
    agentSessionId: null,
    cwd: null,
    branch: null,
    model: null,
    title: null,
    createdAt: null,
    updatedAt: null,
    turnCount: 2,
    lastTurn: { kind },
    turnLines: 2,
    sizeBytes: 1,
    skippedLines: 0,
  };
}

/** A session whose first turn runs, told as far as that; its gateway is gone. */
async function inTurn(): Promise<{ readonly memos: Map<string, string>; readonly at: number }> {
  const before = setUp();
  const teller = before.events.tell(before.session, "launched");
  await teller.begin();
  const at = clock.now();
  move(before, teller, working, at);
  return { memos: before.memos, at };
}

test("a session's life is told step by step, and nothing twice", async () => {
  const all = setUp();
  const teller = all.events.tell(all.session, "launched");
  await teller.begin();
  expect(all.news()).toMatchObject([
    { kind: "session.created", sessionId: "s1", status: "initializing", activity: "starting", replaces: null },
  ]);
  const at = clock.now();
  move(all, teller, working, at);
  expect(all.kinds()).toEqual(["session.status", "session.activity working"]);
  teller.look();
  expect(all.kinds()).toEqual([]);
  const permissions = [permission("p1")];
  move(all, teller, { activity: "needs_permission", permissions }, at + 1);
  const asked = all.news();
  expect(asked).toMatchObject([
    { kind: "session.permission_asked", permissionId: "p1", tool: "Bash" },
    { kind: "session.activity", activity: "needs_permission", previous: "working" },
  ]);
  expect(JSON.stringify(asked)).not.toContain("secret");
  move(all, teller, { ...idle, permissions: [] }, at + 2);
  expect(all.kinds()).toEqual(["session.turn_ended", "session.activity idle"]);
  await teller.ending();
  all.session.record = recordOf({ exitCode: 0, transcriptPath: "/t", terminalId: null });
  all.session.transcriptSummary = openTranscript("ended");
  teller.ended();
  expect(all.news()).toMatchObject([
    { kind: "session.exited", exitCode: 0, status: "completed" },
    { kind: "session.status", status: "completed", previous: "running" },
  ]);
  const closed = recordOf({ closedAt: clock.now(), terminalId: null, transcriptPath: "/t" });
  await all.events.closed(closed);
  expect(all.kinds()).toEqual(["session.closed"]);
  expect(all.memos.size).toBe(0);
});

test("two turns that ended between two looks are two", async () => {
  const all = setUp();
  const teller = all.events.tell(all.session, "launched");
  await teller.begin();
  all.kinds();
  move(all, teller, { ...working, turnRuns: false, activity: "idle", turnsEnded: 2 }, clock.now());
  expect(all.kinds().filter((kind) => kind === "session.turn_ended")).toHaveLength(2);
});

test("after a restart, reports that were told already are passed over, and what came meanwhile is told", async () => {
  const { memos, at } = await inTurn();
  const all = setUp(memos);
  const teller = all.events.tell(all.session, "found");
  await teller.begin();
  move(all, teller, { started: true, activity: "idle" }, at - 1);
  move(all, teller, working, at);
  expect(all.kinds()).toEqual([]);
  move(all, teller, idle, at + 1_000);
  expect(all.news()).toMatchObject([
    { kind: "session.turn_ended", at: new Date(at + 1_000).toISOString() },
    { kind: "session.activity", activity: "idle" },
  ]);
  move(all, teller, { ...working, promptsTaken: 2 }, at + 2_000);
  move(all, teller, { ...idle, turnsEnded: 2 }, at + 3_000);
  teller.caughtUp();
  expect(all.kinds()).toEqual(["session.activity working", "session.turn_ended", "session.activity idle"]);
});

test("a second restart tells nothing of what the first has told", async () => {
  const { memos, at } = await inTurn();
  for (const expected of [["session.turn_ended", "session.activity idle"], []]) {
    const all = setUp(memos);
    const teller = all.events.tell(all.session, "found");
    await teller.begin();
    move(all, teller, working, at);
    move(all, teller, idle, at + 1_000);
    teller.caughtUp();
    expect(all.kinds()).toEqual(expected);
    teller.close();
  }
});

test("an end that the transcript told first is not told again by the report that came late", async () => {
  const { memos, at } = await inTurn();
  for (const late of [false, true]) {
    const all = setUp(memos);
    const teller = all.events.tell(all.session, "found");
    await teller.begin();
    move(all, teller, working, at);
    if (late) move(all, teller, idle, at + 1);
    teller.caughtUp();
    if (!late) {
      all.session.state = { ...all.session.state, ...idle };
      teller.moved(null);
      teller.look();
    }
    expect(all.kinds()).toEqual(late ? [] : ["session.turn_ended", "session.activity idle"]);
    teller.close();
  }
});

test("a turn that was told to run and was ended by no report is told as ended, unless the transcript says it goes on", async () => {
  for (const [kind, expected] of [
    ["ended", ["session.turn_ended", "session.activity idle"]],
    ["open", ["session.activity idle"]],
  ] as const) {
    const { memos } = await inTurn();
    const all = setUp(memos);
    all.session.state = { ...initialActivity, activity: "idle", started: true };
    all.session.transcriptSummary = openTranscript(kind);
    const teller = all.events.tell(all.session, "found");
    await teller.begin();
    teller.caughtUp();
    expect(all.kinds()).toEqual(expected);
    all.session.transcriptSummary = openTranscript("ended");
    teller.look();
    expect(all.kinds(), "told when the transcript has its end").toEqual(kind === "open" ? ["session.turn_ended"] : []);
  }
});

test("a permission that is still open after a restart is not told again, a new one is", async () => {
  const before = setUp();
  const first = before.events.tell(before.session, "launched");
  await first.begin();
  const at = clock.now();
  move(before, first, { ...working, activity: "needs_permission", permissions: [permission("p1")] }, at);
  const all = setUp(before.memos);
  const teller = all.events.tell(all.session, "found");
  await teller.begin();
  const permissions = [permission("p1"), permission("p2")];
  move(all, teller, { ...working, activity: "needs_permission", permissions }, at + 1);
  teller.caughtUp();
  expect(all.news()).toMatchObject([{ kind: "session.permission_asked", permissionId: "p2" }]);
});

test("an agent that chooses its own id is told of under it, with the stand-in named", async () => {
  const all = setUp();
  all.session.provisional = true;
  const teller = all.events.tell(all.session, "launched");
  await teller.begin();
  expect(all.kinds()).toEqual([]);
  all.session.record = recordOf({ sessionId: "own", aliases: ["s1"] });
  all.session.provisional = false;
  teller.look();
  expect(all.news()).toMatchObject([{ kind: "session.created", sessionId: "own", replaces: "s1" }]);
});

test("an agent that never tells its id is told of all the same, after a while or at its end", async () => {
  const waiting = setUp();
  waiting.session.provisional = true;
  const teller = waiting.events.tell(waiting.session, "launched");
  await teller.begin();
  await clock.advance(15_000);
  teller.look();
  expect(waiting.news()).toMatchObject([{ kind: "session.created", sessionId: "s1" }]);
  const ending = setUp();
  ending.session.provisional = true;
  const second = ending.events.tell(ending.session, "launched");
  await second.begin();
  await second.ending();
  expect(ending.kinds(), "before the record says that the process is gone").toEqual(["session.created"]);
  second.ended();
  expect(ending.kinds()).toEqual(["session.exited", "session.status"]);
});

test("a session that goes on with another ends, and the other begins where it was", async () => {
  const all = setUp();
  const teller = all.events.tell(all.session, "launched");
  await teller.begin();
  move(all, teller, { ...working, ...idle }, clock.now());
  all.news();
  all.session.record = recordOf({ sessionId: "s2" });
  teller.look();
  expect(all.news()).toMatchObject([
    { kind: "session.status", sessionId: "s1", status: "completed", continuedBy: "s2" },
    { kind: "session.created", sessionId: "s2", replaces: "s1", activity: "idle" },
  ]);
  expect([...all.memos.keys()].toSorted()).toEqual(["s1", "s2"]);
});

test("a session that is resumed runs again; it is not created again", async () => {
  const all = setUp();
  all.session.record = recordOf({ transcriptPath: "/t" });
  all.session.transcriptSummary = openTranscript("ended");
  const teller = all.events.tell(all.session, "launched");
  await teller.begin();
  expect(all.news()).toMatchObject([
    { kind: "session.status", status: "running", previous: null },
    { kind: "session.activity", activity: "starting", previous: null },
  ]);
});

test("how a session ended that has no process any more is told at the next start, once", async () => {
  const { memos } = await inTurn();
  const ended = recordOf({ terminalId: null, exitCode: 137, signal: "SIGKILL", transcriptPath: "/t" });
  for (const [record, expected] of [
    [ended, ["session.exited", "session.status"]],
    [ended, []],
    [{ ...ended, closedAt: clock.now() }, ["session.closed"]],
    [{ ...ended, closedAt: clock.now() }, []],
  ] as const) {
    const all = setUp(memos);
    all.records.set("s1", record);
    await all.events.reconcile();
    expect(all.kinds()).toEqual(expected);
  }
});

test("what was told of a session that nobody knows any more is forgotten", async () => {
  const { memos } = await inTurn();
  const all = setUp(memos);
  await all.events.reconcile();
  expect(all.kinds()).toEqual([]);
  expect(memos.size).toBe(0);
});
