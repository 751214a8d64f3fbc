import { describe, expect, it } from "vitest";
import { suggestionIn } from "./suggested-message.ts";

const prompt =
  "Suggest a commit message for the staged changes. Answer with the message only, in one code block. Do not change anything.";
const asked = { role: "user", index: 4, text: prompt } as const;

const suggested = (text: string) => suggestionIn([asked, { role: "assistant", index: 5, text }]);

describe("a suggested commit message", () => {
  it("is the first code block of the answer", () => {
    const text =
      "I read the changes.\n\n```text\nfix: retry twice\n\nThe first try is often too early.\n```\n\n```sh\ngit commit\n```";
    expect(suggested(text)).toBe("fix: retry twice\n\nThe first try is often too early.");
  });

  it("can contain code in a longer fence", () => {
    expect(suggested("````\nDocument `run`\n\n```sh\nrun\n```\n````")).toBe("Document `run`\n\n```sh\nrun\n```");
  });

  it("is the whole text without a code block", () => {
    expect(suggested(" Fix the retry `now` \n")).toBe("Fix the retry `now`");
    expect(suggested("```\nnever closed")).toBe("```\nnever closed");
  });

  it("is in the answer to the prompt, not in earlier or later turns", () => {
    const turns = [
      { role: "assistant", index: 3, text: "```\nearlier\n```" },
      { role: "user", index: 6, text: "and now?" },
      { role: "assistant", index: 7, text: "```\nlater\n```" },
    ] as const;
    expect(suggestionIn([...turns, asked, { role: "assistant", index: 5, text: "```\nthis\n```" }])).toBe("this");
    expect(suggestionIn(turns)).toBeNull();
  });

  it("is missing until the agent has answered, and after an interrupt", () => {
    expect(suggestionIn([asked])).toBeNull();
    expect(suggested("")).toBeNull();
    const stopped = { role: "assistant", index: 5, text: "```\nhalf", interrupted: true } as const;
    expect(() => suggestionIn([asked, stopped])).toThrow("interrupted");
  });
});
