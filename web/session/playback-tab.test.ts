import { describe, expect, it } from "vitest";
import { clockWords, momentAt, offsetOf, timelineOf } from "./playback-tab.tsx";

const terminal = (beginsAt: string, endsAt: string) => ({
  terminalId: beginsAt,
  startedAt: beginsAt,
  beginsAt,
  endsAt,
  live: false,
  sizeBytes: 1,
});
const timeline = timelineOf({
  terminals: [
    terminal("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
    terminal("2026-01-02T00:00:00Z", "2026-01-02T00:00:30Z"),
  ],
});
const at = (text: string): number => Date.parse(text);

describe("a timeline", () => {
  it("covers only recorded time", () => {
    expect(timeline.durationMs).toBe(90_000);
    expect(momentAt(timeline, 30_000)).toBe(at("2026-01-01T00:00:30Z"));
    expect(momentAt(timeline, 70_000)).toBe(at("2026-01-02T00:00:10Z"));
    expect(momentAt(timeline, 1e9)).toBe(at("2026-01-02T00:00:30Z"));
    expect(momentAt(timelineOf({ terminals: [] }), 5)).toBe(0);
  });

  it("finds a moment; one between recordings is the start of the next recording", () => {
    expect(offsetOf(timeline, at("2026-01-01T00:00:30Z"))).toBe(30_000);
    expect(offsetOf(timeline, at("2026-01-01T12:00:00Z"))).toBe(60_000);
    expect(offsetOf(timeline, at("2026-01-02T00:00:10Z"))).toBe(70_000);
    expect(offsetOf(timeline, at("2025-01-01T00:00:00Z"))).toBe(0);
    expect(offsetOf(timeline, at("2027-01-01T00:00:00Z"))).toBe(90_000);
  });

  it("is shown in minutes and seconds", () => {
    expect([0, 62_000, 3_723_000].map(clockWords)).toEqual(["0:00", "1:02", "1:02:03"]);
  });
});
