import { expect, test } from "vitest";
import { parseMemoryAsked } from "./memory-lists.tsx";

test("an address contains a query and filters; invalid values are ignored", () => {
  expect(parseMemoryAsked(new URLSearchParams("q=%20time%20out%20&source=api&status=failed&sessionId=s-1"))).toEqual({
    query: "time out",
    filters: { source: "api", status: "failed", sessionId: "s-1" },
  });
  expect(parseMemoryAsked(new URLSearchParams("source=x&status=&sessionId=a%20b"))).toEqual({ query: "", filters: {} });
});
