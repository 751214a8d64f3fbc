import { expect, test } from "vitest";
import { previewWords } from "./delete-log-dialog.tsx";

test("shows how much is deleted and kept, and leaves out zeros", () => {
  const removed = { episode: true, facts: 3, statements: 1, entities: 0 };
  expect(previewWords({ logId: "l", removed, shared: { statements: 2, entities: 1 } })).toEqual({
    goes: ["The entry with its text and its search index", "3 facts", "1 statement from no other entry"],
    stays: ["2 statements shared with other entries", "1 topic shared with other entries"],
  });
  const none = { episode: false, facts: 0, statements: 0, entities: 0 };
  expect(previewWords({ logId: "l", removed: none, shared: { statements: 0, entities: 0 } })).toEqual({
    goes: ["The entry with its text; no facts have been extracted yet"],
    stays: [],
  });
});
