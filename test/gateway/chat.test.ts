import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { type FakeBotApi, type ShownMessage, startFakeBotApi } from "../support/fake-bot-api.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";

const token = "4242:scripted-bot-token-0000000000000000";
const me = { id: 1001, username: "owner" };
const stranger = { id: 6666, username: "stranger" };
const patience = { timeout: 30_000, interval: 50 };

async function createChatWorld(): Promise<{ bot: FakeBotApi; world: World; apiToken: string }> {
  const bot = await startFakeBotApi({ token, paced: true });
  onTestFinished(() => bot.close());
  onTestFailed(() => console.log(bot.messages.map(({ text, edits }) => `${edits} ${text}`)));
  const telegram = {
    allowedUserIds: [me.id],
    scopes: ["coding:read", "coding:write", "coding:drive"],
    apiRoot: bot.url,
  };
  const world = await createWorld({ agents: "scripted", config: { telegram }, env: { POSTERN_TELEGRAM_TOKEN: token } });
  onTestFinished(() => world.close());
  return { bot, world, apiToken: await prepareStore(world) };
}

async function shown(bot: FakeBotApi, isIt: (message: ShownMessage) => boolean): Promise<ShownMessage> {
  await expect.poll(() => bot.messages.some(isIt), patience).toBe(true);
  const found = bot.messages.find(isIt);
  if (found === undefined) throw new Error("It was there a moment ago.");
  return found;
}

const says = (words: string) => (message: ShownMessage) => message.text.includes(words);
const asks = (words: string) => (message: ShownMessage) => message.text.includes(words) && message.buttons.length > 0;

test("a chat message starts a session, a button allows its permission, the answer arrives, a reply continues it; the gateway is killed in between", async () => {
  const { bot, world, apiToken } = await createChatWorld();
  const file = join(world.repository, "from-chat.txt");
  const first = await serveWorld(world, apiToken);
  bot.write(stranger, `/ask run touch ${file}`);
  bot.write(me, `/folder ${world.repository}`);
  await shown(bot, says("New sessions in this chat start in"));

  bot.write(me, "/agent");
  bot.press(me, await shown(bot, asks("Choose the agent")), "scripted");
  await shown(bot, says("use scripted"));

  const prompt = bot.write(me, "/ask write from-chat.txt with by leave");
  const question = await shown(bot, asks("from-chat.txt"));
  expect(question).toMatchObject({ replyTo: prompt, buttons: [{ text: "✅ Allow" }, { text: "❌ Deny" }, {}] });
  expect(existsSync(file)).toBe(false);
  // Changes come after new messages: what was said before it is known to have arrived, and will not be repeated.
  await shown(bot, says("is waiting for your answer"));

  // What is sent while no gateway is running waits, at Telegram; what was taken in and not dealt with waits in the store.
  await first.server.end("SIGKILL");
  bot.press(me, question, "Allow");
  const second = await serveWorld(world, apiToken);
  const answer = await shown(bot, says("RESULT 1 ok"));
  expect(answer.replyTo).toBe(prompt);
  expect(existsSync(file)).toBe(true);
  await shown(bot, (message) => message.text.includes("✅ Allowed by @owner") && message.buttons.length === 0);

  await shown(bot, says("✓ scripted is done"));
  await second.server.end("SIGKILL");
  bot.repeatAll();
  const next = bot.write(me, "say and **on** it goes", { replyTo: answer.messageId });
  await serveWorld(world, apiToken);
  const continued = await shown(bot, says("and on it goes"));
  expect(continued).toMatchObject({ replyTo: next, entities: [{ type: "bold", offset: 4, length: 2 }] });
  const plain = "what is left?";
  bot.write(me, plain);
  await shown(bot, says(echoOf(plain)));

  await expect.poll(() => bot.messages.filter(says("✓ scripted is done")).length, patience).toBe(3);
  for (const words of ["RESULT 1 ok", "and on it goes", echoOf(plain), "✅ Allowed by"]) {
    expect(bot.messages.filter(says(words)), `"${words}" is said once`).toHaveLength(1);
  }
  expect(
    bot.messages.filter(({ chatId }) => chatId !== String(me.id)),
    "a stranger gets nothing",
  ).toEqual([]);
  const asked = world.modelServer.requests.filter(({ kind }) => kind === "turn");
  const prompts = new Set(asked.map(({ prompt: words }) => words));
  expect([...prompts].filter((words) => words?.includes("on** it goes"))).toHaveLength(1);
}, 120_000);
