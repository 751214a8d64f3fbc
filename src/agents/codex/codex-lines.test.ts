import { expect, test } from "vitest";
import { codexNeeds, codexResetsAt } from "./codex-lines.ts";

test.each([
  [{ codex_error_info: "usage_limit_exceeded" }, "limit_reset"],
  [{ codex_error_info: "unauthorized" }, "login"],
  [{ codex_error_info: { http_connection_failed: { http_status_code: 401 } } }, "login"],
  [{ codex_error_info: { http_connection_failed: { http_status_code: 500 } } }, undefined],
  [{ codex_error_info: { stream_disconnected: null } }, undefined],
  [{ message: "no" }, undefined],
  ["text", undefined],
])("Codex's error %j needs %s", (error, needs) => {
  expect(codexNeeds(error)).toBe(needs);
});

test("Codex's limit ends with the last of the exhausted windows", () => {
  const window = (used_percent: number, resets_at: number) => ({ used_percent, window_minutes: 300, resets_at });
  const at = (primary: unknown, secondary: unknown) => codexResetsAt({ rate_limits: { primary, secondary } });
  expect(at(window(100, 1_795_280_236), window(40, 1_895_280_236))).toBe("2026-11-21T16:57:16.000Z");
  expect(at(window(100, 1_795_280_236), window(100, 1_795_280_237))).toBe("2026-11-21T16:57:17.000Z");
  expect(at(window(99, 1_795_280_236), null)).toBeNull();
  expect(codexResetsAt({ rate_limits: null })).toBeNull();
});
