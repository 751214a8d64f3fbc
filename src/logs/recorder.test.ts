import { describe, expect, test, vi } from "vitest";
import { describeOnBothStores, openSqliteTestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { addAccount, openTestLogs, tester, whole } from "../../test/support/logs.ts";
import { createRecordedSessions, createTestRecorder } from "../../test/support/recorded-sessions.ts";
import { PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { recordingMark } from "./record-turns.ts";
import type { RecorderDeps } from "./recorder.ts";

async function setUp(openStore = openSqliteTestStore) {
  const store = await openStore();
  const owner = await addAccount(store);
  const logs = await openTestLogs(store);
  const sessions = createRecordedSessions();
  const given = { store, logs, sessions, owner };
  const turnsOf = async (sessionId: string, accountId = owner): Promise<readonly number[]> => {
    const rows = await store.db
      .selectFrom("log_turns")
      .select("turn_index")
      .where("session_id", "=", sessionId)
      .where("account_id", "=", accountId)
      .orderBy("turn_index")
      .execute();
    return rows.map(({ turn_index }) => turn_index);
  };
  const markIs = (eventId: string) =>
    vi.waitFor(async () => expect((await recordingMark(store))?.eventId).toBe(eventId.padStart(26, "0")), 5_000);
  return { ...given, turnsOf, markIs, recorder: (options = {}) => createTestRecorder(given, options) };
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
const signal = new AbortController().signal;

/** Sessions that changed, one second apart, in pages of two. */
function changed(...sessionIds: readonly string[]): RecorderDeps["changedSince"] {
  const all = sessionIds.map((sessionId, at) => ({ sessionId, updatedAt: Date.now() + at * 1_000 }));
  return async (since, after) => {
    const left = all.filter(({ updatedAt }) => updatedAt >= since && updatedAt > (after?.updatedAt ?? 0));
    return left.slice(0, 2);
  };
}

describeOnBothStores("the recorder", (openStore) => {
  test("continues where it was stopped, and records what happened meanwhile once", async () => {
    const { sessions, turnsOf, markIs, recorder, store } = await setUp(openStore);
    const first = recorder();
    first.start();
    await markIs("0");
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "s1");
    await markIs("1");
    expect(await turnsOf("s1")).toEqual([0, 1]);
    await first.close();
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "s1");
    sessions.say("s2", 25);
    sessions.emit("session.exited", "s2");
    sessions.emit("session.exited", "s2");
    recorder().start();
    await markIs("4");
    expect(await turnsOf("s1")).toEqual([0, 1, 2, 3]);
    expect(await turnsOf("s2")).toEqual(upTo(25));
    const { count } = await store.db
      .selectFrom("log_entries")
      .select(({ fn }) => fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    expect(Number(count), "10 turns at most in each, and the two exchanges of the other").toBe(5);
  });

  test("does not record deleted turns automatically, only later ones; on request all", async () => {
    const { logs, owner, sessions, turnsOf, markIs, recorder } = await setUp(openStore);
    const one = recorder();
    one.start();
    await markIs("0");
    sessions.say("s1", 4);
    sessions.emit("session.turn_ended", "s1");
    await markIs("1");
    await logs.deleteSession(whole(owner), "s1", tester);
    expect(await turnsOf("s1")).toEqual([]);
    sessions.emit("session.turn_ended", "s1");
    await markIs("2");
    expect(await turnsOf("s1")).toEqual([]);
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "s1");
    await markIs("3");
    expect(await turnsOf("s1")).toEqual([4, 5]);
    expect(await one.record("s1", whole(owner), signal)).toMatchObject({ outcome: "recorded", turns: 4 });
    expect(await turnsOf("s1")).toEqual(upTo(6));
    expect(await one.record("s1", whole(owner), signal)).toEqual({ outcome: "known", logIds: [], turns: 0 });
  });

  test("automatically records nothing forgotten, neither turns nor their title; on request all", async () => {
    const { logs, owner, sessions, turnsOf, markIs, recorder } = await setUp(openStore);
    const one = recorder();
    one.start();
    await markIs("0");
    const at = "2025-05-05T12:00:00.000Z";
    sessions.say("own", 23, "2025-05-05T11:00:00.000Z");
    sessions.say("own", 1, at);
    Object.assign(sessions.session("own"), { aliases: ["stand-in"], forgottenAt: Date.parse(at) });
    sessions.emit("session.turn_ended", "stand-in");
    await markIs("1");
    expect(await turnsOf("own")).toEqual([]);
    sessions.say("own", 2, "2025-05-05T12:00:00.001Z");
    sessions.emit("session.turn_ended", "stand-in");
    await markIs("2");
    expect(await turnsOf("own")).toEqual([24, 25]);
    expect((await logs.list(whole(owner), { sessionId: "own", limit: 9 })).logs).toMatchObject([{ title: null }]);
    expect(await one.record("own", whole(owner), signal)).toMatchObject({ outcome: "recorded", turns: 24 });
    expect(await turnsOf("own")).toEqual(upTo(26));
  });
});

describe("the recorder", () => {
  test("records turns that have ended, waits for the last line of one, and at the end takes the last as it is", async () => {
    const { sessions, turnsOf, markIs, recorder } = await setUp();
    recorder().start();
    await markIs("0");
    sessions.say("s1", 4);
    sessions.session("s1").unfinished = "running";
    sessions.emit("session.turn_ended", "s1");
    await markIs("1");
    expect(await turnsOf("s1")).toEqual([0, 1, 2]);
    sessions.session("s1").unfinished = "unwritten";
    sessions.emit("session.turn_ended", "s1");
    await vi.waitFor(() => expect(sessions.reads.length).toBeGreaterThan(4));
    expect(await turnsOf("s1")).toEqual([0, 1, 2]);
    sessions.session("s1").unfinished = null;
    await markIs("2");
    expect(await turnsOf("s1")).toEqual([0, 1, 2, 3]);
    sessions.say("s1", 2);
    Object.assign(sessions.session("s1"), { unfinished: "running", isOver: true });
    sessions.emit("session.exited", "s1");
    await markIs("3");
    expect(await turnsOf("s1")).toEqual(upTo(6));
  });

  test("records only at the end in that mode; nothing when off, and then only new turns", async () => {
    const { sessions, store, turnsOf, markIs, recorder, owner } = await setUp();
    const first = recorder({ mode: "close" });
    first.start();
    await markIs("0");
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "s1");
    sessions.session("s1").isOver = true;
    sessions.emit("session.exited", "s1");
    await markIs("2");
    expect(await turnsOf("s1")).toEqual([0, 1]);
    expect(sessions.reads, "one part, once").toHaveLength(1);
    await first.close();

    const off = recorder({ mode: "off" });
    off.start();
    sessions.say("s2", 2);
    sessions.emit("session.exited", "s2");
    await vi.waitFor(async () => expect(await recordingMark(store)).toBeNull());
    expect(await off.record("s2", whole(owner), signal)).toMatchObject({ outcome: "recorded", turns: 2 });
    await off.close();

    sessions.say("s3", 2);
    sessions.emit("session.exited", "s3");
    recorder({ mode: "close" }).start();
    await markIs("4");
    expect(await turnsOf("s3")).toEqual([]);
  });

  test("records under the session's own id, whatever name was used", async () => {
    const { sessions, turnsOf, markIs, recorder, owner, store } = await setUp();
    const other = await addAccount(store);
    const one = recorder();
    one.start();
    await markIs("0");
    sessions.say("own", 24);
    sessions.session("own").aliases = ["stand-in"];
    sessions.emit("session.turn_ended", "stand-in");
    await markIs("1");
    sessions.say("own", 2);
    sessions.emit("session.turn_ended", "stand-in");
    await markIs("2");
    expect(await turnsOf("own")).toEqual(upTo(26));
    expect(await turnsOf("stand-in")).toEqual([]);
    expect(await one.record("stand-in", whole(owner), signal)).toMatchObject({ outcome: "known" });
    expect(await one.record("stand-in", whole(other), signal)).toMatchObject({ outcome: "recorded", turns: 26 });
    expect(await turnsOf("own", other)).toEqual(upTo(26));
    await expect(one.record("missing", whole(owner), signal)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("tries again after longer and longer when the store fails, leaves out what can never be recorded, and skips what is gone", async () => {
    const { sessions, turnsOf, markIs, recorder, logs } = await setUp();
    const clock = createFakeClock();
    let failing = true;
    const calls: string[] = [];
    recorder({
      clock,
      record: async (accountId: string, recording: Parameters<typeof logs.record>[1]) => {
        calls.push(recording.sessionId);
        if (recording.sessionId === "bad" || failing) throw new Error("no room");
        return logs.record(accountId, recording);
      },
    }).start();
    await markIs("0");
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "gone");
    sessions.emit("session.turn_ended", "s1");
    sessions.say("bad", 2);
    sessions.emit("session.turn_ended", "bad");
    sessions.say("s2", 2);
    sessions.emit("session.turn_ended", "s2");
    for (const waitMs of [1_000, 2_000, 4_000]) {
      await vi.waitFor(() => expect(clock.nextAt).not.toBeNull());
      expect((clock.nextAt ?? 0) - clock.now()).toBe(waitMs);
      await clock.advance(waitMs);
    }
    failing = false;
    await vi.waitFor(async () => {
      if (clock.nextAt !== null) await clock.advance(clock.nextAt - clock.now());
      expect(await turnsOf("s2")).toEqual([0, 1]);
    }, 10_000);
    await markIs("4");
    expect(await turnsOf("s1")).toEqual([0, 1]);
    expect(await turnsOf("bad")).toEqual([]);
    expect(calls.filter((id) => id === "bad")).toHaveLength(8);
  });

  test("looks at every session that may have changed when events are lost", async () => {
    const { sessions, turnsOf, markIs, recorder } = await setUp();
    const first = recorder({ mode: "close" });
    first.start();
    await markIs("0");
    await first.close();
    for (const id of ["ended", "runs"]) sessions.say(id, 2);
    sessions.session("ended").isOver = true;
    sessions.emit("session.exited", "ended");
    sessions.emit("session.activity", "runs");
    sessions.lose();
    recorder({ mode: "close", changedSince: changed("ended", "runs", "gone") }).start();
    await markIs("2");
    expect(await turnsOf("ended")).toEqual([0, 1]);
    expect(await turnsOf("runs")).toEqual([]);
  });

  test("continues with the others when one session cannot be read, and skips that one for now", async () => {
    const { sessions, turnsOf, markIs, recorder, store } = await setUp();
    const first = recorder();
    first.start();
    await markIs("0");
    await first.close();
    const names = ["s1", "bad", "s2", "s3", "good"];
    for (const id of names) sessions.say(id, 2);
    sessions.emit("session.exited", "bad");
    sessions.lose();
    const clock = createFakeClock();
    const logged: string[] = [];
    const bad = async (...args: Parameters<typeof sessions.read>) => {
      if (args[0] === "bad") throw new PosternError("transcript_unreadable", "cannot be read");
      return sessions.read(...args);
    };
    const error = (details: unknown) => logged.push(JSON.stringify(details));
    const log = { ...silentLog, error };
    const second = recorder({ clock, log, read: bad, changedSince: changed(...names) });
    second.start();
    await vi.waitFor(async () => expect(await turnsOf("good")).toEqual([0, 1]), 5_000);
    expect(logged, "it is tried some more times").toEqual([]);
    await vi.waitFor(async () => {
      if (clock.nextAt !== null) await clock.advance(clock.nextAt - clock.now());
      expect((await recordingMark(store))?.eventId).toBe("1".padStart(26, "0"));
    }, 10_000);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("bad");
    // Its next event causes one more attempt, without delay.
    sessions.emit("session.turn_ended", "bad");
    sessions.say("s1", 2);
    sessions.emit("session.turn_ended", "s1");
    await markIs("3");
    expect(clock.nextAt).toBeNull();
    expect(await turnsOf("s1")).toEqual(upTo(4));
    await second.close();
    sessions.emit("session.turn_ended", "bad");
    recorder().start();
    await markIs("4");
    expect(await turnsOf("bad"), "when it can be read again").toEqual([0, 1]);
  });

  test("resumes among the changed sessions after it was stopped there", async () => {
    const { sessions, markIs, recorder, logs, store } = await setUp();
    const first = recorder();
    first.start();
    await markIs("0");
    await first.close();
    const names = upTo(200).map((n) => `s${n}`);
    for (const id of names) sessions.say(id, 2);
    sessions.emit("session.exited", "s0");
    sessions.lose();
    const changedSince = changed(...names);
    const second = recorder({
      changedSince,
      record: async (accountId: string, recording: Parameters<typeof logs.record>[1]) => {
        if (recording.sessionId === "s150") void second.close();
        return logs.record(accountId, recording);
      },
    });
    second.start();
    await vi.waitFor(() => expect(sessions.reads.some(({ sessionId }) => sessionId === "s150")).toBe(true), 10_000);
    await second.close();
    expect((await recordingMark(store))?.eventId).toBe("0".padStart(26, "0"));
    const readBefore = sessions.reads.length;
    recorder({ changedSince }).start();
    await markIs("1");
    expect(sessions.reads.slice(readBefore).some(({ sessionId }) => sessionId === "s0")).toBe(false);
    expect(sessions.reads.at(-1)?.sessionId).toBe("s199");
  });

  test("closes once a requested recording has ended", async () => {
    const { sessions, recorder, owner, logs } = await setUp();
    sessions.say("s1", 25);
    const writing = Promise.withResolvers<void>();
    const mayWrite = Promise.withResolvers<void>();
    let written = 0;
    const one = recorder({
      record: async (accountId: string, recording: Parameters<typeof logs.record>[1]) => {
        writing.resolve();
        await mayWrite.promise;
        const recorded = await logs.record(accountId, recording);
        written += 1;
        return recorded;
      },
    });
    const asked = one.record("s1", whole(owner), signal).catch(() => "stopped");
    await writing.promise;
    const closed = one.close().then(() => written);
    mayWrite.resolve();
    expect(await closed, "only the entry being written").toBe(1);
    expect(await asked).toBe("stopped");
  });

  test("stops in the middle of a long session, and continues there", async () => {
    const { sessions, turnsOf, markIs, recorder, logs } = await setUp();
    const stopping = recorder({
      record: async (accountId: string, recording: Parameters<typeof logs.record>[1]) => {
        const recorded = await logs.record(accountId, recording);
        void stopping.close();
        return recorded;
      },
    });
    stopping.start();
    await markIs("0");
    sessions.say("s1", 50);
    sessions.emit("session.exited", "s1");
    await vi.waitFor(async () => expect(await turnsOf("s1")).toEqual(upTo(10)));
    await stopping.close();
    expect(await turnsOf("s1")).toEqual(upTo(10));
    recorder().start();
    await markIs("1");
    expect(await turnsOf("s1")).toEqual(upTo(50));
  });
});
