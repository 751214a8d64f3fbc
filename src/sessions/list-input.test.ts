import { expect, test } from "vitest";
import { listInputSchema } from "../wire/session-lists.ts";

test.each([
  [{ limit: 0 }],
  [{ limit: 201 }],
  [{ limit: 1.5 }],
  [{ limit: "20" }],
  [{ offset: -1 }],
  [{ since: "yesterday" }],
  [{ since: "2026-13-01" }],
  [{ since: "2026-01-01T00:00:00" }],
  [{ status: "asleep" }],
  [{ dir: "" }],
  [{ idPrefix: "" }],
  [{ direction: "up" }],
])("a request for %o does not fit", (input) => {
  expect(listInputSchema.safeParse(input).success).toBe(false);
});
