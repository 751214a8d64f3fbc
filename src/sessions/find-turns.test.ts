import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createTranscripts } from "../transcripts/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { NextTurnQuery } from "../wire/turn-search.ts";
import { sessionError } from "./errors.ts";
import { createFindTurns } from "./find-turns.ts";
import type { LocatedSession } from "./locate.ts";

const turns = 300;
const caller: Caller = { accountId: "a", scopes: new Set(["coding:read"]), folders: null };
const by = { caller, signal: new AbortController().signal };
const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** Prompts at even indexes; answers with a failed tool at 41 and 201; `Needle` in a prompt, an input and a result. */
async function setUp() {
  const path = join(await makeTempFolder(), "t.jsonl");
  const lines = Array.from({ length: turns / 2 }, (_, at) => {
    const prompt = line({
      type: "user",
      message: { role: "user", content: at === 10 ? "a Needle, a needle" : `p${at}` },
    });
    const isFailed = at === 20 || at === 100;
    const id = `t${at}`;
    const tool = { type: "tool_use", id, name: "Bash", input: { command: at === 20 ? "grep NEEDLE" : "ls" } };
    const content = [{ type: "text", text: `answer ${at}` }, ...(isFailed ? [tool] : [])];
    const answer = line({ type: "assistant", message: { role: "assistant", content, stop_reason: "end_turn" } });
    const text = at === 100 ? `${"x".repeat(200)}\nneedle` : "exit 1";
    const result = { type: "tool_result", tool_use_id: id, content: text, is_error: true };
    return prompt + answer + (isFailed ? line({ type: "user", message: { role: "user", content: [result] } }) : "");
  });
  await writeFile(path, lines.join(""));
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
  const record = sessionRecord({ sessionId: "s", agent: "claude-code", transcriptPath: path });
  const session: LocatedSession = {
    record,
    stored: true,
    accountId: "owner",
    template: claudeCode,
    env: {},
    live: null,
  };
  const finds = createFindTurns({
    transcripts,
    locator: {
      async locate(id) {
        if (id === "s") return session;
        throw sessionError("session_not_found", "no");
      },
      transcriptOf: () => transcripts.summary(path, "claude"),
    },
  });
  return finds;
}

test("a text is found in prompts, inputs and results, in any case, with its surroundings", async () => {
  const finds = await setUp();
  expect(await finds.search("s", { q: "needle", limit: 10 }, by)).toEqual({
    matches: [
      { index: 20, count: 2, snippet: "a Needle, a needle" },
      { index: 41, count: 1, snippet: "grep NEEDLE" },
      { index: 201, count: 1, snippet: expect.stringMatching(/^…x+ needle$/) },
    ],
    turnCount: turns,
    truncated: false,
  });
  expect(await finds.search("s", { q: "needle", limit: 2 }, by)).toMatchObject({
    matches: [{ index: 20 }, { index: 41 }],
    truncated: true,
  });
  expect((await finds.search("s", { q: "a.*", limit: 2 }, by)).matches).toEqual([]);
});

test.each<[NextTurnQuery, number | null]>([
  [{ mark: "prompt", from: -1, direction: "next" }, 0],
  [{ mark: "prompt", from: 0, direction: "next" }, 2],
  [{ mark: "prompt", from: 299, direction: "previous" }, 298],
  [{ mark: "prompt", from: 0, direction: "previous" }, null],
  [{ mark: "prompt", from: 298, direction: "next" }, null],
  [{ mark: "problem", from: -1, direction: "next" }, 41],
  [{ mark: "problem", from: 41, direction: "next" }, 201],
  [{ mark: "problem", from: 201, direction: "next" }, null],
  [{ mark: "problem", from: 100_000, direction: "previous" }, 201],
  [{ mark: "problem", from: 201, direction: "previous" }, 41],
])("%j finds %j", async (query, index) => {
  expect(await (await setUp()).next("s", query, by)).toEqual({ index });
});

test("a session that the caller cannot see is not found", async () => {
  const finds = await setUp();
  expect(await errorCode(finds.search("other", { q: "p", limit: 1 }, by))).toBe("session_not_found");
  expect(await errorCode(finds.next("other", { mark: "prompt", from: 0, direction: "next" }, by))).toBe(
    "session_not_found",
  );
});
