import { expect, test } from "vitest";
import { quietUntil } from "./quiet-hours.ts";

// Worked out by hand, with the offsets of each zone: Berlin is UTC+1, and UTC+2 from 2026-03-29 01:00Z to 2026-10-25 01:00Z.
test.for([
  ["before the start", "22:00", "07:00", "Europe/Berlin", "2026-01-10T20:59:59Z", null],
  ["at the start, over midnight", "22:00", "07:00", "Europe/Berlin", "2026-01-10T21:00:00Z", "2026-01-11T06:00:00Z"],
  ["after midnight", "22:00", "07:00", "Europe/Berlin", "2026-01-11T05:59:59Z", "2026-01-11T06:00:00Z"],
  ["at the end", "22:00", "07:00", "Europe/Berlin", "2026-01-11T06:00:00Z", null],
  ["within a day", "12:00", "13:30", "UTC", "2026-05-01T12:10:30Z", "2026-05-01T13:30:00Z"],
  ["after it, within a day", "12:00", "13:30", "UTC", "2026-05-01T13:30:00Z", null],
  ["until midnight", "18:00", "00:00", "UTC", "2026-05-01T23:59:00Z", "2026-05-02T00:00:00Z"],
  ["an offset of half an hour", "22:00", "06:00", "Asia/Kolkata", "2026-05-01T16:30:00Z", "2026-05-02T00:30:00Z"],
  ["west of Greenwich", "22:00", "06:00", "America/Los_Angeles", "2026-07-01T05:00:00Z", "2026-07-01T13:00:00Z"],
  ["the clocks go forward", "22:00", "07:00", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"],
  ["the clocks go back", "22:00", "07:00", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"],
] as const)("quiet hours: %s", ([, from, to, timeZone, now, until]) => {
  const end = quietUntil({ from, to, timeZone }, Date.parse(now));
  expect(end === null ? null : new Date(end).toISOString().replace(".000", "")).toBe(until);
});
