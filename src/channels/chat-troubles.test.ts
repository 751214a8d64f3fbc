import { expect, onTestFinished, test } from "vitest";
import { type ChatScene, endTurn, me, openChatScene } from "../../test/support/chat-scene.ts";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { type ShownMessage, startFakeBotApi } from "../../test/support/fake-bot-api.ts";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { PosternError } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { activityWords } from "./session-messages.ts";

const openStore = openSqliteTestStore;
const patience = { timeout: 15_000, interval: 20 };
const said = ({ bot }: ChatScene, words: string): readonly ShownMessage[] =>
  bot.messages.filter(({ text }) => text.includes(words));

test("rate limits, broken connections and an unreachable server delay messages but lose none", async () => {
  const scene = await openChatScene(openStore);
  let limited = 0;
  scene.bot.intercept = (method) => {
    if (method !== "sendMessage" || limited > 0) return null;
    limited += 1;
    return { status: 429, description: "Too Many Requests", retryAfter: 1 };
  };
  scene.bot.write(me, "/ask slowly");
  await scene.shown("ECHO slowly");
  const held = scene.bot.requests.filter(({ method }) => method === "sendMessage");
  expect((held[1]?.at ?? 0) - (held[0]?.at ?? 0)).toBeGreaterThanOrEqual(950);
  let broken = 0;
  scene.bot.intercept = (method, { text }) => {
    if (method !== "sendMessage" || !String(text).includes("ECHO") || broken > 0) return null;
    broken += 1;
    return "break-after";
  };
  scene.bot.write(me, "/ask broken");
  const repeated = await scene.shown("↻ Possible duplicate:\nECHO broken");
  expect(repeated).toBeDefined();
  expect(said(scene, "ECHO broken")).toHaveLength(2);
});

test("omits styles that Telegram rejects, and delivers the text", async () => {
  const scene = await openChatScene(openStore);
  scene.bot.intercept = (method, { entities }) =>
    method === "sendMessage" && JSON.stringify(entities).includes("bold")
      ? { status: 400, description: "Bad Request: can't parse entities" }
      : null;
  scene.bot.write(me, "/ask a **bold** word");
  expect(await scene.shown("ECHO a bold word")).toMatchObject({ entities: [] });
});

test("starts and stops without Telegram, and logs the failure once", async () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: (_fields, message) => void lines.push(message) };
  const scene = await openChatScene(openStore, { log, apiRoot: "http://127.0.0.1:9" });
  await expect.poll(() => lines, patience).toEqual(["chat service unreachable; trying again"]);
  await scene.end();
});

test("logs a wrong token, without the token", async () => {
  const lines: string[] = [];
  const log: Log = {
    ...silentLog,
    error: (fields, message) => void lines.push(`${message} ${JSON.stringify(fields)}`),
  };
  const other = await startFakeBotApi({ token: "2:another" });
  onTestFinished(() => other.close());
  await openChatScene(openStore, { log, apiRoot: other.url });
  await expect.poll(() => lines.length, patience).toBe(1);
  expect(lines[0]).toMatch(/rejected the connection.*getMe: 401 Unauthorized/);
  expect(lines[0]).not.toContain("1:scene");
});

test("sends a very long answer as a file, and a long one as several messages in order", async () => {
  const scene = await openChatScene(openStore);
  scene.sessions.onAsk = (session, prompt) => endTurn(session, "a line of words\n".repeat(Number(prompt)));
  scene.bot.write(me, "/ask 600");
  await expect.poll(() => said(scene, "a line of words").length, patience).toBe(3);
  scene.bot.write(me, "/ask 5000");
  const file = await scene.shown("The file contains all");
  expect(file.document?.content).toBe("a line of words\n".repeat(5_000).trim());
});

test("rejects messages beyond the chat's queue with an explanation", async () => {
  const scene = await openChatScene(openStore);
  let release: () => void = () => undefined;
  scene.sessions.beforeAsk = () => new Promise((resolve) => (release = resolve));
  for (let count = 0; count < 52; count += 1) scene.bot.write(me, `/ask ${count}`);
  await scene.shown("Too many messages are waiting in this chat");
  expect(said(scene, "Too many messages are waiting")).not.toHaveLength(0);
  scene.sessions.beforeAsk = async () => undefined;
  release();
  await expect.poll(() => scene.sessions.asked.length, patience).toBe(50);
});

test("unsent text in the terminal blocks a prompt, and the chat explains what to do", async () => {
  const scene = await openChatScene(openStore);
  scene.sessions.beforeAsk = async () => {
    throw new PosternError("composer_not_empty", 'It holds text. Set onDraft to "clear".', {
      details: { draft: "half" },
    });
  };
  scene.bot.write(me, "/ask something");
  const refused = await scene.shown("(composer_not_empty)");
  expect(refused.text).toContain("Send or delete it there, then send your message again.");
  expect(refused.text).not.toContain("onDraft");
  expect(activityWords(sessionSummary({ activity: "idle", queuedPrompts: 1, draft: true }))).toContain("unsent text");
});
