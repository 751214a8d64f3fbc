import { expect, test } from "vitest";
import {
  clock,
  idle,
  inTurn,
  permission,
  recordOf,
  setUpTold,
  transcriptOf,
  working,
} from "../../test/support/told-session.ts";
import { initialActivity } from "./activity.ts";

test("a session's life is published step by step, and nothing twice", async () => {
  const all = setUpTold();
  const publisher = all.events.publisherFor(all.session, "launched");
  await publisher.begin();
  expect(all.news()).toMatchObject([
    { kind: "session.created", sessionId: "s1", status: "initializing", activity: "starting", replaces: null },
  ]);
  const at = clock.now();
  all.move(publisher, working, at);
  expect(all.kinds()).toEqual(["session.status", "session.activity working"]);
  publisher.look();
  expect(all.kinds()).toEqual([]);
  const permissions = [permission("p1")];
  all.move(publisher, { activity: "needs_permission", permissions }, at + 1);
  const asked = all.news();
  expect(asked).toMatchObject([
    { kind: "session.permission_asked", permissionId: "p1", tool: "Bash" },
    { kind: "session.activity", activity: "needs_permission", previous: "working" },
  ]);
  expect(JSON.stringify(asked)).not.toContain("secret");
  all.move(publisher, { ...idle, permissions: [] }, at + 2);
  expect(all.kinds()).toEqual(["session.turn_ended", "session.activity idle"]);
  await publisher.ending();
  all.session.record = recordOf({ exitCode: 0, transcriptPath: "/t", terminalId: null });
  all.session.transcriptSummary = transcriptOf("ended");
  publisher.ended();
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
  const all = setUpTold();
  const publisher = all.events.publisherFor(all.session, "launched");
  await publisher.begin();
  all.kinds();
  all.move(publisher, { ...working, turnRuns: false, activity: "idle", turnsEnded: 2 }, clock.now());
  expect(all.kinds().filter((kind) => kind === "session.turn_ended")).toHaveLength(2);
});

test("after a restart, reports that were published are skipped, and newer ones are published", async () => {
  const { memos, at } = await inTurn();
  const all = setUpTold(memos);
  const publisher = all.events.publisherFor(all.session, "found");
  await publisher.begin();
  all.move(publisher, { started: true, activity: "idle" }, at - 1);
  all.move(publisher, working, at);
  expect(all.kinds()).toEqual([]);
  all.move(publisher, idle, at + 1_000);
  expect(all.news()).toMatchObject([
    { kind: "session.turn_ended", at: new Date(at + 1_000).toISOString() },
    { kind: "session.activity", activity: "idle" },
  ]);
  all.move(publisher, { ...working, promptsTaken: 2 }, at + 2_000);
  all.move(publisher, { ...idle, turnsEnded: 2 }, at + 3_000);
  publisher.caughtUp();
  expect(all.kinds()).toEqual(["session.activity working", "session.turn_ended", "session.activity idle"]);
});

test("a second restart repeats nothing", async () => {
  const { memos, at } = await inTurn();
  for (const expected of [["session.turn_ended", "session.activity idle"], []]) {
    const all = setUpTold(memos);
    const publisher = all.events.publisherFor(all.session, "found");
    await publisher.begin();
    all.move(publisher, working, at);
    all.move(publisher, idle, at + 1_000);
    publisher.caughtUp();
    expect(all.kinds()).toEqual(expected);
    publisher.close();
  }
});

test("an end that the transcript showed first is not published again by a late report", async () => {
  const { memos, at } = await inTurn();
  for (const late of [false, true]) {
    const all = setUpTold(memos);
    const publisher = all.events.publisherFor(all.session, "found");
    await publisher.begin();
    all.move(publisher, working, at);
    if (late) all.move(publisher, idle, at + 1);
    publisher.caughtUp();
    if (!late) {
      all.session.state = { ...all.session.state, ...idle };
      publisher.moved(null);
      publisher.look();
    }
    expect(all.kinds()).toEqual(late ? [] : ["session.turn_ended", "session.activity idle"]);
    publisher.close();
  }
});

test("a turn that was published as running and has no reported end is published as ended, unless the transcript shows it running", async () => {
  for (const [kind, expected] of [
    ["ended", ["session.turn_ended", "session.activity idle"]],
    ["open", ["session.activity idle"]],
  ] as const) {
    const { memos } = await inTurn();
    const all = setUpTold(memos);
    all.session.state = { ...initialActivity, activity: "idle", started: true };
    all.session.transcriptSummary = transcriptOf(kind);
    const publisher = all.events.publisherFor(all.session, "found");
    await publisher.begin();
    publisher.caughtUp();
    expect(all.kinds()).toEqual(expected);
    all.session.transcriptSummary = transcriptOf("ended");
    publisher.look();
    expect(all.kinds(), "published when the transcript has its end").toEqual(
      kind === "open" ? ["session.turn_ended"] : [],
    );
  }
});

test("a permission that is still open after a restart is not published again, a new one is", async () => {
  const before = setUpTold();
  const first = before.events.publisherFor(before.session, "launched");
  await first.begin();
  const at = clock.now();
  before.move(first, { ...working, activity: "needs_permission", permissions: [permission("p1")] }, at);
  const all = setUpTold(before.memos);
  const publisher = all.events.publisherFor(all.session, "found");
  await publisher.begin();
  const permissions = [permission("p1"), permission("p2")];
  all.move(publisher, { ...working, activity: "needs_permission", permissions }, at + 1);
  publisher.caughtUp();
  expect(all.news()).toMatchObject([{ kind: "session.permission_asked", permissionId: "p2" }]);
});

test("an agent that chooses its own id is published under it, with the placeholder named", async () => {
  const all = setUpTold();
  all.session.provisional = true;
  const publisher = all.events.publisherFor(all.session, "launched");
  await publisher.begin();
  expect(all.kinds()).toEqual([]);
  all.session.record = recordOf({ sessionId: "own", aliases: ["s1"] });
  all.session.provisional = false;
  publisher.look();
  expect(all.news()).toMatchObject([{ kind: "session.created", sessionId: "own", replaces: "s1" }]);
});

test("an agent that never reports its id is published anyway, after a while or at its end", async () => {
  const waiting = setUpTold();
  waiting.session.provisional = true;
  const publisher = waiting.events.publisherFor(waiting.session, "launched");
  await publisher.begin();
  await clock.advance(15_000);
  publisher.look();
  expect(waiting.news()).toMatchObject([{ kind: "session.created", sessionId: "s1" }]);
  const ending = setUpTold();
  ending.session.provisional = true;
  const second = ending.events.publisherFor(ending.session, "launched");
  await second.begin();
  await second.ending();
  expect(ending.kinds(), "before the record says that the process is gone").toEqual(["session.created"]);
  second.ended();
  expect(ending.kinds()).toEqual(["session.exited", "session.status"]);
});

test("a session that is continued by another ends, and the other starts where it was", async () => {
  const all = setUpTold();
  const publisher = all.events.publisherFor(all.session, "launched");
  await publisher.begin();
  all.move(publisher, { ...working, ...idle }, clock.now());
  all.news();
  all.session.record = recordOf({ sessionId: "s2" });
  publisher.look();
  expect(all.news()).toMatchObject([
    { kind: "session.status", sessionId: "s1", status: "completed", continuedBy: "s2" },
    { kind: "session.created", sessionId: "s2", replaces: "s1", activity: "idle" },
  ]);
  expect([...all.memos.keys()].toSorted()).toEqual(["s1", "s2"]);
});

test("a session that is resumed runs again; it is not created again", async () => {
  const all = setUpTold();
  all.session.record = recordOf({ transcriptPath: "/t" });
  all.session.transcriptSummary = transcriptOf("ended");
  const publisher = all.events.publisherFor(all.session, "launched");
  await publisher.begin();
  expect(all.news()).toMatchObject([
    { kind: "session.status", status: "running", previous: null },
    { kind: "session.activity", activity: "starting", previous: null },
  ]);
});

test("how a session without a process ended is published at the next start, once", async () => {
  const { memos } = await inTurn();
  const ended = recordOf({ terminalId: null, exitCode: 137, signal: "SIGKILL", transcriptPath: "/t" });
  for (const [record, expected] of [
    [ended, ["session.exited", "session.status"]],
    [ended, []],
    [{ ...ended, closedAt: clock.now() }, ["session.closed"]],
    [{ ...ended, closedAt: clock.now() }, []],
  ] as const) {
    const all = setUpTold(memos);
    all.records.set("s1", record);
    await all.events.reconcile();
    expect(all.kinds()).toEqual(expected);
  }
});

test("the memo of an unknown session is removed", async () => {
  const { memos } = await inTurn();
  const all = setUpTold(memos);
  await all.events.reconcile();
  expect(all.kinds()).toEqual([]);
  expect(memos.size).toBe(0);
});

test.each(["", "{", "null", "[]", '{"status":"dreaming"}', '{"status":"running","asked":[]}'])(
  "the memo %j, of another version, counts as none",
  async (memo) => {
    const all = setUpTold(new Map([["s1", memo]]));
    const ended = recordOf({ terminalId: null, exitCode: 0, closedAt: clock.now() });
    all.records.set("s1", ended);
    await all.events.reconcile();
    expect(all.kinds()).toEqual(["session.closed"]);
    expect(all.memos.size).toBe(0);
    all.memos.set("s1", memo);
    const publisher = all.events.publisherFor(all.session, "found");
    await publisher.begin();
    publisher.caughtUp();
    expect(all.kinds()).toEqual(["session.created"]);
    expect(all.memos.get("s1")).toContain('"through"');
  },
);
