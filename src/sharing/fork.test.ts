import { expect, test } from "vitest";
import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import { mask, maskSecrets, namesSecret } from "../logs/index.ts";
import type { Scope } from "../wire/access.ts";
import type { Caller } from "../wire/caller.ts";
import type { AskInput, AskOutput } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import { createFork } from "./index.ts";

const caller: Caller = {
  accountId: "me",
  folders: null,
  scopes: new Set<Scope>(["coding:read", "coding:write"]),
};
const { signal } = new AbortController();

function world(
  texts: readonly string[],
  {
    failsWith = null,
    worktree = false,
  }: { readonly failsWith?: PosternError | null; readonly worktree?: boolean } = {},
) {
  const turns = texts.map(
    (text, index): Turn => ({
      ...{ index, role: index % 2 === 0 ? "user" : "assistant", at: null, endedAt: null },
      ...{ text, blocks: [{ type: "text", text }], model: null, usage: null },
    }),
  );
  const asked: AskInput[] = [];
  const files = new Map<string, string>();
  const fork = createFork({
    masking: { mask, maskSecrets, namesSecret },
    async read(sessionId, { after, limit }) {
      const part = turns.filter(({ index }) => index > after).slice(0, limit);
      const facts = { sessionId, title: "T", agent: "A", agentName: "a", dir: "/w/feat", createdAt: "2026-01-01" };
      return { ...facts, worktree: worktree ? { branch: "feat" } : null, turnCount: turns.length, turns: part };
    },
    ports: {
      async ask(input) {
        asked.push(input);
        if (failsWith !== null) throw failsWith;
        return z.custom<AskOutput>().parse({});
      },
      async attach({ name, text }) {
        files.set(name, text);
        return name;
      },
      detach: async (name) => void files.delete(name),
      branchOf: async () => null,
      repositoryDirOf: async () => "/repository",
      patchOf: async () => null,
    },
  });
  return { fork: (more = {}) => fork({ sessionId: "s1", ...more }, caller, signal), asked, files };
}

test("of a long conversation the newest turns are kept, and always some of the last one", async () => {
  const long = world(["old ".repeat(60_000), "older", `${"new ".repeat(60_000)}end`]);
  expect(await long.fork()).toMatchObject({ forkedFrom: { turn: 2, leftOut: 1 } });
  expect(long.files.get("conversation.md")).toMatch(/The 1 oldest turns? (is|are) left out[^]*older[^]*new end\n$/);
  const huge = world(["question", "answer ".repeat(80_000)]);
  await huge.fork();
  expect(huge.files.get("conversation.md")?.length).toBeGreaterThan(300_000);
});

test("files stay for a session whose setup still runs, and go if the prompt was refused", async () => {
  const late = world(["a", "b"], { failsWith: new PosternError("setup_running", "later") });
  await expect(late.fork()).rejects.toMatchObject({ code: "setup_running" });
  expect([...late.files.keys()]).toEqual(["conversation.md"]);
  const refused = world(["a", "b"], { failsWith: new PosternError("prompt_not_text", "no") });
  await expect(refused.fork()).rejects.toMatchObject({ code: "prompt_not_text" });
  expect([...refused.files.keys()]).toEqual([]);
});

test("a session in a worktree is forked into a new one from its branch, and no mode is taken over", async () => {
  const { fork, asked } = world(["a", "b"], { worktree: true });
  await fork();
  expect(asked[0]).toMatchObject({ dir: "/repository", worktree: { baseBranch: "feat" }, permissionMode: "ask" });
  await expect(fork({ permissionMode: "all" })).rejects.toMatchObject({ code: "insufficient_scope" });
  await expect(fork({ turn: 2 })).rejects.toMatchObject({ code: "invalid_request" });
});
