import { createServer } from "node:net";
import { TelegramServer } from "telegram-test-api/lib/telegramServer.js";
import { expect, onTestFinished, test } from "vitest";
import { me, openChatScene, sceneToken } from "../../../test/support/chat-scene.ts";
import { openSqliteTestStore } from "../../../test/support/database.ts";
import { pendingPermission } from "../../../test/support/scripted-gateway.ts";

const patience = { timeout: 15_000, interval: 50 };

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return address === null || typeof address === "string" ? 0 : address.port;
}

// A third-party fake of Telegram, in addition to ours in test/support. It has no styles, limits, offsets, groups or files.
test("with telegram-test-api: a command, a session, a permission answered by button, the answer, a reply", async () => {
  const server = new TelegramServer({ host: "127.0.0.1", port: await freePort() });
  await server.start();
  onTestFinished(async () => void (await server.stop()));
  const scene = await openChatScene(openSqliteTestStore, { apiRoot: server.config.apiURL });
  const client = server.getClient(sceneToken, { userId: me.id, chatId: me.id, userName: me.username, type: "private" });
  const said = (words: string) =>
    server.storage.botMessages.find(({ message }) => message.text.includes(words) && message.chat_id === String(me.id));
  const shown = async (words: string) => {
    await expect.poll(() => said(words), patience).toBeDefined();
    return said(words);
  };
  scene.sessions.onAsk = (session) => {
    session.permissions = [pendingPermission()];
    session.activity = "needs_permission";
  };
  await client.sendCommand(client.makeCommand("/start"));
  await shown("starts a session");
  await client.sendCommand(client.makeCommand("/ask list the files"));
  const question = await shown("claude-code: Bash?");
  const markup = question?.message.reply_markup;
  const [[allow] = []] = markup !== undefined && "inline_keyboard" in markup ? markup.inline_keyboard : [];
  const data = allow !== undefined && "callback_data" in allow ? (allow.callback_data ?? "") : "";
  await client.sendCallback(client.makeCallbackQuery(data, { message: { message_id: question?.messageId ?? 0 } }));
  await shown("✅ Allowed by @owner");
  const answer = await shown("DECIDED allow");
  const reply = { message_id: answer?.messageId ?? 0, date: 0, chat: { id: me.id, type: "private" } } as const;
  await client.sendMessage(client.makeMessage("and now?", { reply_to_message: reply }));
  await expect.poll(() => scene.sessions.asked.length, patience).toBe(2);
  const [first, second] = scene.sessions.asked;
  expect(first?.sessionId).toBeUndefined();
  expect(second).toMatchObject({ prompt: "and now?", sessionId: [...scene.sessions.all.keys()][0] });
});
