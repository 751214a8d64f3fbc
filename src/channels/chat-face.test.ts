import { expect, test } from "vitest";
import { type ChatScene, endTurn, me, openChatScene } from "../../test/support/chat-scene.ts";
import { describeOnBothStores, openSqliteTestStore } from "../../test/support/database.ts";
import type { ShownMessage } from "../../test/support/fake-bot-api.ts";
import { pendingPermission, turn } from "../../test/support/scripted-gateway.ts";
import { type Log, silentLog } from "../core/log.ts";

const patience = { timeout: 15_000, interval: 20 };
const said = ({ bot }: ChatScene, words: string): readonly ShownMessage[] =>
  bot.messages.filter(({ text }) => text.includes(words));
const buttonsOf = ({ buttons }: ShownMessage): readonly string[] => buttons.map(({ text }) => text);

/** Starts a session that then waits for a permission, and shows the question. */
async function askedFor(scene: ChatScene, permission = pendingPermission()): Promise<ShownMessage> {
  scene.sessions.onAsk = (session) => {
    session.permissions = [permission];
    session.activity = "needs_permission";
  };
  scene.bot.write(me, "/ask do it");
  return scene.shown("claude-code", ({ text, buttons }) => buttons.length > 0 || text.includes("Answer it in"));
}

describeOnBothStores("a chat", (openStore) => {
  test("starts a session in its folder, gets its answer, and continues it with replies and plain text", async () => {
    const scene = await openChatScene(openStore, { folders: ["/code/a", "/code/b"] });
    scene.bot.write(me, "/ask too early");
    await scene.shown("Choose a folder first");
    scene.bot.write(me, "/folder");
    scene.bot.press(me, await scene.shown("Choose the folder for new sessions."), "/code/b");
    await scene.shown("New sessions in this chat start in /code/b");
    const prompt = scene.bot.write(me, "/ask one\nand two");
    const answer = await scene.shown("ECHO one\nand two");
    expect(answer.replyTo).toBe(prompt);
    expect(scene.sessions.asked).toMatchObject([{ dir: "/code/b", prompt: "one\nand two" }]);
    scene.bot.write(me, "three", { replyTo: answer.messageId });
    await scene.shown("ECHO three");
    scene.bot.write(me, "four");
    await scene.shown("ECHO four");
    const [first] = scene.sessions.all.values();
    expect(scene.sessions.asked.slice(1).map(({ sessionId }) => sessionId)).toEqual([
      first?.sessionId,
      first?.sessionId,
    ]);
    await expect.poll(() => said(scene, "✓ claude-code is done").length, patience).toBe(3);
  });

  test("an answer that arrives before the tool returns is a reply to the prompt", async () => {
    const scene = await openChatScene(openStore);
    scene.bot.write(me, "/ask first");
    const { messageId } = await scene.shown("ECHO first");
    scene.sessions.afterAsk = async () => {
      const [session] = scene.sessions.all.values();
      if (session !== undefined) scene.tell(session);
      await new Promise((resolve) => setTimeout(resolve, 300)); // long enough for a report
    };
    const second = scene.bot.write(me, "second", { replyTo: messageId });
    expect((await scene.shown("ECHO second")).replyTo).toBe(second);
  });

  test("a restart at any point neither loses a message nor answers one twice", async () => {
    const scene = await openChatScene(openStore);
    scene.bot.write(me, "/ask first");
    await scene.shown("ECHO first");
    // Stored but not yet processed when the gateway stops: the tool does not answer.
    let asking = 0;
    const gone = () =>
      new Promise<void>((_resolve, reject) => {
        asking += 1;
        setTimeout(() => reject(new Error("gone with the gateway")), 200);
      });
    scene.sessions.beforeAsk = gone;
    scene.bot.write(me, "/ask second");
    await expect.poll(() => asking, patience).toBe(1);
    await scene.end();
    scene.sessions.beforeAsk = async () => undefined;
    scene.bot.write(me, "/ask third");
    scene.bot.repeatAll();
    await scene.begin();
    await scene.shown("ECHO second");
    await scene.shown("ECHO third");
    // Accepted by the agent, but the gateway stops before recording that.
    scene.sessions.afterAsk = gone;
    scene.bot.write(me, "fourth");
    await expect.poll(() => asking, patience).toBe(2);
    await scene.end();
    scene.sessions.afterAsk = async () => undefined;
    await scene.begin();
    await scene.shown("ECHO fourth");
    scene.bot.repeatAll();
    await scene.restart();
    scene.bot.write(me, "/help");
    await scene.shown("/ask <prompt> starts a session");
    expect(scene.sessions.asked.map(({ prompt }) => prompt)).toEqual(["first", "second", "third", "fourth"]);
    for (const words of ["ECHO first", "ECHO second", "ECHO third", "ECHO fourth"])
      expect(said(scene, words)).toHaveLength(1);
  });

  test("is notified once of what its session did while the gateway was down", async () => {
    const scene = await openChatScene(openStore);
    scene.sessions.onAsk = () => undefined;
    scene.bot.write(me, "/ask long work");
    await scene.shown("claude-code is working");
    await scene.end();
    const [session] = scene.sessions.all.values();
    if (session === undefined) throw new Error("no session");
    endTurn(session, "done meanwhile");
    scene.tell(session);
    await scene.begin();
    await scene.shown("done meanwhile");
    await scene.restart();
    session.turns.splice(-1, 1, turn(1, "done meanwhile, and more of it"));
    scene.tell(session);
    await scene.shown(", and more of it");
    expect(said(scene, "done meanwhile")).toHaveLength(1);
  });

  test("a permission request has buttons, is answered once, and the message then names who answered", async () => {
    const scene = await openChatScene(openStore);
    const question = await askedFor(
      scene,
      pendingPermission({ input: { command: "rm \u001b[31m-rf x", description: "harmless" } }),
    );
    expect(question).toMatchObject({ text: "claude-code: Bash?\nrm -rf x" });
    expect(buttonsOf(question)).toEqual(["✅ Allow", "❌ Deny", "✅ Allow for this session…"]);
    scene.bot.press(me, question, "Deny");
    scene.bot.press(me, question, "Allow");
    const settled = await scene.shown("❌ Denied by @owner");
    expect(settled.buttons).toEqual([]);
    await scene.shown("DECIDED deny");
    await expect.poll(() => scene.bot.notices, patience).toEqual(["❌ Denied by @owner", "Already answered."]);
    expect(scene.sessions.answered).toMatchObject([{ decision: "deny" }]);
  });

  test("a press being processed when the gateway stopped is attributed to the same person", async () => {
    const scene = await openChatScene(openStore);
    const question = await askedFor(scene);
    await scene.end();
    const [session] = scene.sessions.all.values();
    // The state after a gateway stopped between the tool's answer and recording it.
    await scene.store.db
      .insertInto("chat_updates")
      .values({
        channel: "telegram",
        update_id: 5,
        chat_id: String(me.id),
        message_id: null,
        session_id: null,
        body: JSON.stringify({
          userId: String(me.id),
          userName: "@owner",
          chatId: String(me.id),
          isPrivate: true,
          messageId: null,
          content: { kind: "press", pressId: "x", data: question.buttons[0]?.callback_data ?? "" },
        }),
        request: JSON.stringify({ decision: "allow" }),
        state: "waiting",
        attempts: 1,
        received_at: 0,
      })
      .execute();
    if (session !== undefined) session.permissions = [];
    if (session !== undefined) session.activity = "working";
    await scene.begin();
    await scene.shown("✅ Allowed by @owner");
    expect(scene.sessions.answered).toEqual([]);
  });
});

const openStore = openSqliteTestStore;

test("without permission to drive, the question has no buttons and names where to answer", async () => {
  const scene = await openChatScene(openStore, { scopes: ["coding:read", "coding:write"] });
  const question = await askedFor(scene);
  expect(question.buttons).toEqual([]);
  expect(question.text).toContain("http://localhost/sessions/");
});

test("a question has its options as buttons, and can be answered with free text", async () => {
  const scene = await openChatScene(openStore);
  const options = [{ label: "Left" }, { label: "Right", description: "the other" }];
  const ask = (permissionId: string) =>
    pendingPermission({
      permissionId,
      kind: "question",
      tool: "AskUserQuestion",
      input: { questions: [{ question: "Which way?", options }] },
    });
  const question = await askedFor(scene, ask("a".repeat(32)));
  expect(buttonsOf(question)).toEqual(["Left", "Right"]);
  scene.bot.press(me, question, "Right");
  await scene.shown("“Right” chosen by @owner");
  const [session] = scene.sessions.all.values();
  if (session === undefined) throw new Error("no session");
  session.permissions = [ask("b".repeat(32))];
  session.activity = "needs_answer";
  scene.tell(session, "activity");
  const again = await scene.shown("Which way?", ({ buttons }) => buttons.length > 0);
  scene.bot.write(me, "straight on", { replyTo: again.messageId });
  await scene.shown("replied with text");
  expect(scene.sessions.answered.map(({ answers }) => answers)).toEqual([
    { "Which way?": "Right" },
    { "Which way?": "straight on" },
  ]);
});

test("a dialog of the agent has its choices as buttons, and pressing one selects it", async () => {
  const scene = await openChatScene(openStore);
  const dialog = pendingPermission({
    permissionId: "c".repeat(32),
    kind: "dialog",
    tool: "Folder trust",
    input: { text: "Do you trust\nthis folder?" },
    choices: [
      { choiceId: "1", label: "Yes, \u001b[1mproceed\u001b[0m" },
      { choiceId: "2", label: "No, exit" },
    ],
  });
  const message = await askedFor(scene, dialog);
  expect(message.text).toBe("claude-code: Folder trust\nDo you trust\nthis folder?");
  expect(buttonsOf(message)).toEqual(["Yes, proceed", "No, exit"]);
  scene.bot.press(me, message, "Yes, proceed");
  expect((await scene.shown("“Yes, proceed” chosen by @owner")).buttons).toEqual([]);
  await scene.shown("DECIDED 1");
  expect(scene.sessions.answered).toEqual([
    { sessionId: expect.any(String), permissionId: dialog.permissionId, choice: "1" },
  ]);
});

test("a dialog with unknown choices has no buttons and names where to answer", async () => {
  const scene = await openChatScene(openStore);
  const message = await askedFor(scene, pendingPermission({ kind: "dialog", tool: "Login", choices: [] }));
  expect([message.buttons, message.text]).toEqual([[], expect.stringContaining("http://localhost/sessions/")]);
});

test("a question that was answered elsewhere loses its buttons", async () => {
  const scene = await openChatScene(openStore);
  await askedFor(scene);
  const [session] = scene.sessions.all.values();
  if (session === undefined) throw new Error("no session");
  session.permissions = [];
  session.activity = "working";
  scene.tell(session, "activity");
  expect((await scene.shown("answered elsewhere")).buttons).toEqual([]);
});

test("strangers get no reply, in private and in groups, and the log names each once without their text", async () => {
  const lines: string[] = [];
  const keep = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, debug: keep, info: keep, warn: keep, error: keep };
  const scene = await openChatScene(openStore, { log });
  const stranger = { id: 666, username: "stranger" };
  for (const words of ["/start", "secret words", "/ask secret words"]) scene.bot.write(stranger, words);
  scene.bot.write(stranger, "/ask secret words", { chat: -77 });
  scene.bot.write(me, "/help", { chat: -77 });
  const help = await scene.shown("starts a session");
  expect(help.chatId).toBe("-77");
  scene.bot.give({
    callback_query: {
      id: "1",
      from: { ...stranger, is_bot: false, first_name: "s" },
      message: { message_id: help.messageId, date: 1, chat: { id: -77, type: "group" } },
      data: "f:x",
    },
  });
  scene.bot.write(me, "just talking", { chat: -77 });
  scene.bot.write(me, "/ask@another_bot no", { chat: -77 });
  scene.bot.write(me, "/sessions@postern_test_bot", { chat: -77 });
  await scene.shown("No sessions");
  expect(scene.bot.messages).toHaveLength(2);
  expect(scene.sessions.asked).toEqual([]);
  expect(lines.filter((line) => line.includes("666"))).toHaveLength(1);
  expect(lines.join("\n")).not.toMatch(/secret|1:scene/);
});

test("a topic is a separate chat, with replies in the topic", async () => {
  const scene = await openChatScene(openStore);
  scene.bot.write(me, "/ask in a topic", { chat: -77, topic: 9 });
  expect(await scene.shown("ECHO in a topic")).toMatchObject({ chatId: "-77", topic: 9 });
});

test("reports errors and unknown commands in words", async () => {
  const scene = await openChatScene(openStore);
  scene.bot.write(me, "/ask !rm");
  await scene.shown("The prompt begins with ! (prompt_not_text)");
  scene.bot.write(me, "/nonsense");
  await scene.shown("Unknown command /nonsense");
  scene.bot.write(me, "hello", { replyTo: 999 });
  await scene.shown("does not belong to a session");
});
