import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import {
  createOpenCodeDatabase,
  type OpenCodeDatabase,
  type OpenCodeEvent,
  recordedEvents,
  recordedSession,
} from "../../../test/support/opencode-database.ts";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { outline } from "../../../test/support/turn-outline.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import { createTranscripts } from "../../transcripts/transcripts.ts";
import { transcriptFormats } from "../transcript-formats.ts";
import { createJournalNews, journalOf, openEventSource, sessionIn, sessionsIn } from "./opencode-database.ts";

const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
afterAll(() => transcripts.close());

async function makeDatabase(): Promise<OpenCodeDatabase> {
  const database = createOpenCodeDatabase(await makeTempFolder());
  onTestFinished(() => database.close());
  return database;
}

async function read({ path }: OpenCodeDatabase, range = { limit: 1_000 }) {
  const answer = await transcripts.read(join(path, recordedSession), "opencode", range);
  if (answer === null) throw new Error("no such session");
  return { ...answer, outline: outline(answer.turns) };
}

describe("a session of OpenCode", () => {
  test("is read from its log: prompts as typed, calls with their results, and the end of each turn", async () => {
    const database = await makeDatabase();
    database.append(recordedSession, recordedEvents);
    const { outline: told, turns, summary } = await read(database);
    expect(told).toMatchInlineSnapshot(`
      [
        "user: hello there",
        "assistant: ECHO hello there #12998c01",
        "user: run touch made.txt",
        "assistant: bash failed "The user rejected permission to use this specific tool call."",
        "user: run touch made.txt",
        "assistant: bash ok "(no output)" | ECHO run touch made.txt #aaddea65
      RESULT 1 ok: (no output)",
        "user: --help me
      with "two" 'lines' 🦊 $HOME \`id\`
      	tab	here 
      4
      5
      6 and a long one \\ ",
        "assistant: ECHO --help me with "two" 'lines' 🦊 $HOME \`id\` tab here 4 5 6 and #5cec7504",
        "user: look at @README.md ",
        "assistant: ECHO <path>/code/project/README.md</path> <type>file</type> #c2e099fb",
        "user: slow 20000
      say long",
        "assistant: l",
        "user: fail 400",
        "assistant: ",
      ]
    `);
    expect(turns[1]).toMatchObject({
      at: "2026-11-22T07:07:48.068Z",
      endedAt: "2026-11-22T07:08:35.824Z",
      model: "lab/alpha",
      usage: { inputTokens: 100, outputTokens: 10, cacheReadTokens: 20 },
    });
    expect(summary).toMatchObject({
      agentSessionId: recordedSession,
      cwd: "/code/project",
      title: "ECHO hello there #12998c01",
      createdAt: "2026-11-22T07:07:46.624Z",
      lastTurn: { kind: "failed", message: "Scripted failure 400." },
      skippedLines: 0,
    });
  });

  test("reads the same, however much was read before", async () => {
    const whole = await makeDatabase();
    whole.append(recordedSession, recordedEvents);
    const { turns } = await read(whole);
    const growing = await makeDatabase();
    for (const event of recordedEvents) {
      growing.append(recordedSession, [event]);
      await read(growing);
    }
    expect((await read(growing)).turns).toEqual(turns);
  });

  test("is recognized by its path alone; a missing session or another program's database reads as nothing", async () => {
    const database = await makeDatabase();
    database.append(recordedSession, recordedEvents.slice(0, 4));
    expect(sessionsIn(database.path)).toEqual([
      { sessionId: recordedSession, events: 4, updatedAt: expect.any(Number) },
    ]);
    expect(sessionIn(database.path, "ses_other")).toBeNull();
    expect(await transcripts.summary(join(database.path, "ses_other"), "opencode")).toBeNull();
    expect(await transcripts.summary(join(await makeTempFolder(), "opencode.db", "ses_a"), "opencode")).toBeNull();
    expect(sessionsIn(join(await makeTempFolder(), "opencode.db"))).toBeNull();
    database.remove(recordedSession);
    expect(await transcripts.summary(join(database.path, recordedSession), "opencode")).toBeNull();
  });

  test("notifies its watchers when it grows", async () => {
    const database = await makeDatabase();
    database.append(recordedSession, recordedEvents.slice(0, 4));
    let told = 0;
    onTestFinished(transcripts.watch(join(database.path, recordedSession), () => void (told += 1)));
    database.append(recordedSession, recordedEvents.slice(4));
    await expect.poll(() => told).toBeGreaterThan(0);
  });

  test("of thousands of turns is read page by page", async () => {
    const database = await makeDatabase();
    const count = 3_000;
    database.append(recordedSession, Array.from({ length: count }, (_, turn) => exchange(turn)).flat());
    const { turns, summary } = await read(database, { limit: 2 });
    expect(summary.turnCount).toBe(2 * count);
    expect(outline(turns)).toEqual([`user: prompt ${count - 1}`, `assistant: answer ${count - 1}`]);
  });
});

test("large events are read with pauses between them", async () => {
  const database = await makeDatabase();
  const large = { part: { id: "prt_1", text: "x".repeat(600_000) } };
  const event = (id: number): OpenCodeEvent => ({ id: `evt_${id}`, type: "message.part.updated.1", data: large });
  database.append(recordedSession, [1, 2, 3, 4, 5].map(event));
  const source = await openEventSource(join(database.path, recordedSession));
  let [lines, pauses] = [0, 0];
  const sink = { line: () => void (lines += 1), skipped: () => undefined, pause: () => void (pauses += 1) };
  await source?.lines({ offset: 0, insideTooLong: false }, null, sink);
  await source?.close();
  expect([lines, pauses]).toEqual([5, 3]);
});

function exchange(turn: number): readonly OpenCodeEvent[] {
  const said = (role: "user" | "assistant", text: string): readonly OpenCodeEvent[] => {
    const id = `msg_${role}${turn}`;
    const info = { id, role, time: { created: turn, completed: turn }, finish: "stop" };
    const part = { id: `prt_${role}${turn}`, messageID: id, type: "text", text };
    return [
      { id: `evt_${id}`, type: "message.updated.1", data: { info } },
      { id: `evt_part_${id}`, type: "message.part.updated.1", data: { part, time: turn } },
    ];
  };
  return [...said("user", `prompt ${turn}`), ...said("assistant", `answer ${turn}`)];
}

test("reading it is not a change; writing is", async () => {
  const database = await makeDatabase();
  database.append(recordedSession, recordedEvents.slice(0, 2));
  const [hasNews, journal] = [createJournalNews(), journalOf(database.path)];
  await expect.poll(() => hasNews(journal)).toBe(false); // recent writes are reported each time
  expect(sessionsIn(database.path)).toHaveLength(1);
  expect(hasNews(journal)).toBe(false);
  database.append(recordedSession, recordedEvents.slice(2, 4));
  expect(hasNews(journal)).toBe(true);
});
