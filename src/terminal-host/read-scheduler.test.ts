import { expect, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import { createReadScheduler } from "./read-scheduler.ts";

function turnsAt(start: number) {
  let now = start;
  const turns = createReadScheduler({ ...systemClock, now: () => now });
  return { turns, pass: (ms: number) => void (now += ms) };
}

const alone = 64 * 1024;

test("a flood is read in small pieces while another terminal's answer is awaited", () => {
  const { turns, pass } = turnsAt(1_000);
  expect(turns.budget(1)).toBe(alone);
  turns.awaited(2);
  expect(turns.budget(1)).toBeLessThan(alone);
  pass(1_100);
  expect(turns.budget(1)).toBe(alone);
  expect(turns.budget(2)).toBeLessThan(alone);
});

test("input is answered at full speed when no other terminal reads", () => {
  const { turns } = turnsAt(1_000);
  expect(turns.budget(1)).toBe(alone);
  turns.awaited(1);
  expect(turns.budget(1)).toBe(alone);
  expect(turns.budget(2)).toBeLessThan(alone);
  expect(turns.budget(1)).toBeLessThan(alone);
});

test("a flood pauses after each turn while another terminal gets input, and that terminal does not", () => {
  const { turns, pass } = turnsAt(1_000);
  expect(turns.restMs(1)).toBe(0);
  turns.awaited(2);
  pass(500);
  expect(turns.restMs(1)).toBeGreaterThan(0);
  expect(turns.restMs(2)).toBe(0);
  pass(600);
  expect(turns.restMs(1)).toBe(0);
});
