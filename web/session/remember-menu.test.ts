import { expect, test } from "vitest";
import { rememberChoices } from "./remember-menu.tsx";

test("a rule for today ends at 18:00, at midnight, or at 18:00 tomorrow, and is at least half an hour long", () => {
  const labels = (hour: number, minute = 0) =>
    rememberChoices(new Date(2026, 10, 27, hour, minute)).map(({ label }) => label);
  expect(labels(9)).toEqual(["For this session…", "In this folder until 18:00…", "Always in this folder…"]);
  expect(labels(17, 30)[1]).toBe("In this folder until 18:00…");
  expect(labels(17, 31)[1]).toBe("In this folder until midnight…");
  expect(labels(23, 40)[1]).toBe("In this folder until 18:00 tomorrow…");
  expect(rememberChoices(new Date(2026, 10, 27, 17, 31))[1]?.until).toBe(new Date(2026, 10, 28).toISOString());
});
