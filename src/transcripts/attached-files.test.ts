import { expect, test } from "vitest";
import { attachedAt, splitAttached } from "./attached-files.ts";

const id = "01234567-89ab-cdef-0123-456789abcdef";
const path = `/home/me/.local/share/postern/attachments/${id}/shot.png`;

test("the lines of attachments at a prompt's end are not part of it", () => {
  const files = [{ attachmentId: id, path }];
  expect(splitAttached(`look\n\n@${path}`)).toEqual({ text: "look", files });
  expect(splitAttached(`look\nhere\n\nAttached file: ${path}\n@"${path}" `)).toEqual({
    text: "look\nhere",
    files: [...files, ...files],
  });
  expect(attachedAt(path)).toEqual(files[0]);
});

test.for([
  "look",
  `@${path}`,
  `@${path} is a file`,
  `look @${path}`,
  "look\n\n@/etc/passwd",
  `look\n\n@${path}/../../x`,
  `look\n\n@attachments/${id}/a.png`,
])("%j stays as it is", (text) => {
  expect(splitAttached(text)).toEqual({ text, files: [] });
});

test("1 MB of hostile text takes milliseconds", () => {
  const hostile = [
    `look\n@${"/attachments/".repeat(80_000)}`,
    `look\n${`@/attachments/${id}/a\n`.repeat(20_000)}`,
    `look\n@/${"a".repeat(1_000_000)}/attachments/${id}/`,
    "\n".repeat(1_000_000),
    `look${" \n".repeat(500_000)}x`,
  ];
  const startedAt = performance.now();
  for (const text of hostile) splitAttached(text);
  // Quadratic time would be minutes.
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});
