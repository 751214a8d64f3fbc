import { expect, test } from "vitest";
import type { EntityType, LogEntity, LogFact } from "../../src/wire/logs.ts";
import { backLabel, entityName, extractorCounts, factsOfEntry, predicateLabel, valueWords } from "./facts.ts";
import { lanesOf } from "./time-lanes.tsx";

function thing(type: EntityType, key: string): LogEntity {
  return { entityId: `${type} ${key}`, type, key };
}

function fact(
  [subject, predicate, object]: readonly [LogEntity, string, LogEntity | string],
  differs: Partial<LogFact> = {},
): LogFact {
  const about = typeof object === "string" ? { object: null, value: object } : { object, value: null };
  return {
    factId: `${subject.key} ${predicate} ${JSON.stringify(object)} ${differs.validFrom ?? ""}`,
    logId: "l1",
    statementId: `${subject.key} ${predicate} ${JSON.stringify(object)}`,
    subject,
    predicate,
    ...about,
    validFrom: "2026-03-01T10:00:00.000Z",
    validTo: null,
    recordedAt: "2026-03-01T10:00:00.000Z",
    extractor: "rules@1",
    ...differs,
  };
}

const session = thing("Session", "0199e3f5-1111-7222-8333-444455556666");
const command = thing("Command", "npm test");
const file = thing("File", "/code/gateway/src/a.ts");
const titles = new Map([[session.key, "Longer\u202E timeout"]]);

test("facts of an entry are grouped by topic; a command appears once, with its result", () => {
  const facts = [
    fact([session, "read", file]),
    fact([session, "edited", file]),
    fact([session, "edited", file], { validFrom: "2026-03-01T11:00:00.000Z" }),
    fact([session, "ran", command]),
    fact([command, "last_exit", "1"], { extractor: "llm:m@12345678" }),
  ];
  const { sessions, others } = factsOfEntry(facts);
  expect(sessions.map(({ subject }) => subject.key)).toEqual([session.key]);
  expect(sessions[0]?.predicates.map(({ predicate, facts: all }) => [predicate, all.length])).toEqual([
    ["edited", 1],
    ["read", 1],
  ]);
  expect(others.map(({ type, subjects }) => [type, subjects.map(({ subject }) => subject.key)])).toEqual([
    ["Command", ["npm test"]],
  ]);
  expect(extractorCounts(facts)).toEqual([
    ["rules@1", 4],
    ["llm:m@12345678", 1],
  ]);
});

test("topic names fit on a line and contain no characters that change its direction", () => {
  expect(entityName(session, titles)).toBe("Longer timeout");
  expect(entityName(session)).toBe("0199e3f5");
  expect(entityName(thing("Session", "nightly"))).toBe("nightly");
  expect(entityName(thing("Session", "api"))).toBe("Notes");
  expect(entityName(file)).toBe("…/src/a.ts");
  expect(valueWords({ predicate: "last_exit", value: "1" })).toBe("exit code 1");
  expect(valueWords({ predicate: "last_exit", value: "failed" })).toBe("failed");
  expect([predicateLabel("depends_on"), backLabel("depends_on")]).toEqual(["Depends on", "Depends on, by"]);
});

test("the timeline shows states as spans up to now and events as moments, in order", () => {
  const facts = [
    fact([command, "last_exit", "0"], { validFrom: "2026-03-03T00:00:00.000Z" }),
    fact([session, "ran", command], { validFrom: "2026-03-01T00:00:00.000Z" }),
    fact([command, "last_exit", "1"], { validFrom: "2026-03-01T00:00:00.000Z", validTo: "2026-03-03T00:00:00.000Z" }),
  ];
  const nowMs = Date.parse("2026-03-05T00:00:00.000Z");
  const lanes = lanesOf(facts, { entityId: command.entityId, nowMs, titles });
  expect(lanes?.toMs).toBe(nowMs);
  expect([lanes?.firstMs, lanes?.lastMs]).toEqual([Date.parse("2026-03-01T00:00:00.000Z"), null]);
  expect(lanes?.lanes.map(({ label }) => label)).toEqual(["Ended with", "Run in"]);
  const [ended, run] = lanes?.lanes ?? [];
  expect(ended?.marks.map(({ words, tone }) => [words, tone])).toEqual([
    ["exit code 1", "failed"],
    ["exit code 0", "holds"],
  ]);
  const [first, second] = ended?.marks ?? [];
  expect(first?.end).toBe(second?.start);
  expect(second?.end).toBe(1);
  expect(run?.marks).toEqual([
    expect.objectContaining({ words: "Longer timeout", tone: "moment", start: first?.start }),
  ]);
});

test("a single moment is inside the timeline; without facts there is no timeline", () => {
  const edited = fact([session, "edited", file]);
  const lanes = lanesOf([edited], { entityId: file.entityId, nowMs: Date.now(), titles });
  expect([lanes?.firstMs, lanes?.lastMs]).toEqual([Date.parse(edited.validFrom), Date.parse(edited.validFrom)]);
  const [mark] = lanes?.lanes[0]?.marks ?? [];
  expect(mark?.start).toBeGreaterThan(0);
  expect(mark?.end).toBeLessThan(1);
  expect(lanesOf([], { entityId: file.entityId, nowMs: 0, titles })).toBeNull();
});
