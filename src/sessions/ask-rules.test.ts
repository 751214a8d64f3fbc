import { expect, test } from "vitest";
import { checkDraft, mayFollow } from "./ask-rules.ts";
import { sessionError } from "./errors.ts";

const session = (draft: string) => ({ draft: async () => draft, record: { sessionId: "s" } });
const notBehindSlash = {
  async checkBehind(draft: string) {
    if (draft.startsWith("/")) throw sessionError("prompt_not_text", "It would complete a command.");
  },
};

test("with text in the composer a prompt is refused, unless it clears the text or can follow it", async () => {
  await expect(checkDraft(session("half typed "), notBehindSlash, undefined)).rejects.toMatchObject({
    code: "composer_not_empty",
    details: { draft: "half typed " },
  });
  await expect(checkDraft(session("/export "), notBehindSlash, "append")).rejects.toMatchObject({
    code: "prompt_not_text",
  });
  await checkDraft(session("half typed "), notBehindSlash, "append");
  await checkDraft(session("/export "), notBehindSlash, "clear");
  await checkDraft(session(""), notBehindSlash, undefined);
});

test("what cannot follow a draft waits, and another failure is one", async () => {
  const may = mayFollow(notBehindSlash);
  expect([await may("half typed "), await may("/export ")]).toEqual([true, false]);
  const broken = mayFollow({ checkBehind: () => Promise.reject(new Error("disk")) });
  await expect(broken("x")).rejects.toThrow("disk");
});
