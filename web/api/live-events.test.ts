import { QueryClient } from "@tanstack/react-query";
import { describe, expect, test } from "vitest";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { afterEvent, patchLists } from "./live-events.ts";
import { queryKeys } from "./query.ts";
import { noFilters, type SessionPage } from "./sessions.ts";

const session = sessionSummary({
  sessionId: "s1",
  sessionAliases: ["provisional"],
  dir: "/code/a",
  activity: "working",
});

const head = {
  id: "0".repeat(26),
  at: "2026-01-01T00:01:00.000Z",
  sessionId: "s1",
  agent: "claude-code",
  dir: "/code/a",
};
const asks: SessionEvent = { ...head, kind: "session.activity", activity: "needs_permission", previous: "working" };

describe("an event updates a session's", () => {
  test("activity", () => {
    expect(afterEvent(session, asks)).toEqual({ ...session, activity: "needs_permission" });
  });

  test("process, and its activity when the process has ended", () => {
    const exited: SessionEvent = {
      ...head,
      kind: "session.exited",
      status: "failed",
      exitCode: 137,
      signal: "SIGKILL",
      endedAfterIdleMs: 5_000,
    };
    const gone = {
      status: "failed",
      endedAfterIdleMs: 5_000,
      exitCode: 137,
      signal: "SIGKILL",
      activity: null,
      pid: null,
      owner: null,
    };
    expect(afterEvent(session, exited)).toMatchObject(gone);
    const status: SessionEvent = {
      ...head,
      kind: "session.status",
      status: "completed",
      previous: "running",
      continuedBy: null,
    };
    expect(afterEvent(session, status)).toMatchObject({ status: "completed", activity: null, pid: null });
    expect(afterEvent(session, { ...status, status: "running" })).toEqual(session);
  });

  test("closed state", () => {
    expect(afterEvent(session, { ...head, kind: "session.closed" }).closedAt).toBe(head.at);
  });
});

describe("session lists", () => {
  const other = { ...session, sessionId: "s2", sessionAliases: [] };

  function clientWith() {
    const client = new QueryClient();
    const live = [...queryKeys.sessionLists, "live", noFilters];
    const list = [...queryKeys.sessionLists, "list", noFilters, 0];
    client.setQueryData(live, [session, other]);
    const listed = [session, other].map((each) => ({ session: each, match: null }));
    const shown: SessionPage = { listed, total: 2, indexing: null };
    client.setQueryData(list, shown);
    const activities = () => [
      client.getQueryData<readonly SessionSummary[]>(live)?.map(({ activity }) => activity),
      client.getQueryData<SessionPage>(list)?.listed.map((row) => row.session.activity),
    ];
    const page = () => client.getQueryData<SessionPage>(list);
    return { client, activities, page };
  }

  test("only the session of the event changes", () => {
    const { client, activities } = clientWith();
    patchLists(client, asks);
    expect(activities()).toEqual([
      ["needs_permission", "working"],
      ["needs_permission", "working"],
    ]);
  });

  test("a session is also found by a former id", () => {
    const { client, activities } = clientWith();
    patchLists(client, { ...asks, sessionId: "provisional" });
    expect(activities()[0]).toEqual(["needs_permission", "working"]);
  });

  test("an event of an unlisted session changes nothing, and other rows keep their identity", () => {
    const { client, activities, page } = clientWith();
    const before = page();
    patchLists(client, { ...asks, sessionId: "s3" });
    expect(activities()[0]).toEqual(["working", "working"]);
    expect(page()).toBe(before);
    patchLists(client, asks);
    expect(page()?.listed[1]).toBe(before?.listed[1]);
  });
});
