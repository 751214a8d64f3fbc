import { expect, test } from "vitest";
import { type ChatScene, me, openChatScene } from "../../test/support/chat-scene.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { picture } from "../../test/support/pictures.ts";
import { pendingPermission } from "../../test/support/scripted-gateway.ts";
import type { QueuedPrompt } from "../wire/queue.ts";

const patience = { timeout: 60_000, interval: 20 };

/** Starts a session that then waits for a permission. @returns the question */
async function askedFor(scene: ChatScene) {
  scene.sessions.onAsk = (session) => {
    session.permissions = [pendingPermission()];
    session.activity = "needs_permission";
  };
  scene.bot.write(me, "/ask do it");
  return scene.shown("claude-code: Bash?", ({ buttons }) => buttons.length > 0);
}

describeOnBothStores("a chat", (openStore) => {
  test("a photo or file goes to the agent with its caption as the prompt, or without words", async () => {
    const scene = await openChatScene(openStore);
    const { bot, sessions } = scene;
    bot.write(me, "/ask what is this?", { file: { bytes: picture(1) } });
    const answer = await scene.shown("ECHO what is this?");
    bot.write(me, "", { file: { name: "log.txt", bytes: Buffer.from("failed") }, replyTo: answer.messageId });
    await scene.shown("ECHO See the attached file.");
    const [session] = sessions.all.keys();
    expect(sessions.attached).toEqual([
      { name: "photo.jpg", sessionId: null, bytes: picture(1) },
      { name: "log.txt", sessionId: session, bytes: Buffer.from("failed") },
    ]);
    expect(sessions.asked).toMatchObject([
      { prompt: "what is this?", attachments: ["00000000-0000-4000-8000-000000000001"] },
      { sessionId: session, attachments: ["00000000-0000-4000-8000-000000000002"] },
    ]);

    // An album comes as several messages, with its words at one of them.
    const album = [1, 2, 3].map((at) => ({ file: { bytes: picture(at) }, albumId: "of-three" }));
    const ids = album.map((part, at) => bot.write(me, at === 0 ? "/ask compare them" : "", part));
    const compared = await scene.shown("ECHO compare them");
    const attachments = [3, 4, 5].map((at) => `00000000-0000-4000-8000-00000000000${at}`);
    expect(sessions.asked.slice(2)).toMatchObject([{ prompt: "compare them", attachments }]);
    expect(sessions.attached.slice(2).map(({ bytes }) => bytes)).toEqual([1, 2, 3].map((at) => picture(at)));
    // A reply to any of them goes to its session.
    bot.write(me, "and now?", { replyTo: ids[2] ?? 0 });
    await scene.shown("ECHO and now?");
    expect(sessions.asked[3]?.sessionId).toBe([...sessions.all.keys()][1]);
    expect(compared.replyTo).toBe(ids[0]);

    bot.write(me, "and this?", { file: { name: "large.txt", bytes: Buffer.alloc(20 * 1024 * 1024 + 1, "a") } });
    await scene.shown("large.txt is larger than 20 MB");
    bot.intercept = (method) => (method === "getFile" ? { status: 400, description: "Bad Request: gone" } : null);
    bot.write(me, "and this?", { file: { name: "gone.txt", bytes: Buffer.from("a") } });
    await scene.shown("gone.txt could not be fetched");
    expect(sessions.asked).toHaveLength(4);
    expect(sessions.attached).toHaveLength(5);
  });

  test("what waits is listed and cancelled with a button", async () => {
    const scene = await openChatScene(openStore);
    const { bot, sessions } = scene;
    bot.write(me, "/queue");
    await scene.shown("No session selected");
    bot.write(me, "/ask first");
    await scene.shown("ECHO first");
    bot.write(me, "/queue");
    await scene.shown("No queued prompts.");
    const queuedAt = new Date(0).toISOString();
    const waits = (text: string, position: number): QueuedPrompt => {
      const promptId = `00000000-0000-4000-8000-00000000000${position}`;
      return { promptId, position, text, kind: "text", queuedAt, attachments: [], canChange: true };
    };
    sessions.queued = [waits("fix the build", 0), waits("then the tests", 1)];
    bot.write(me, "/queue");
    const list = await scene.shown("2 queued prompts");
    expect(list.text).toContain("1. fix the build\n2. then the tests");
    bot.press(me, list, "then the tests");
    await scene.shown("✕ Cancelled: then the tests");
    expect(sessions.queued.map(({ text }) => text)).toEqual(["fix the build"]);
    bot.press(me, list, "then the tests");
    await expect.poll(() => bot.notices, patience).toContain("This prompt is no longer queued.");
  });

  test("a request is allowed for the session after the rule was shown in words", async () => {
    const scene = await openChatScene(openStore);
    const { bot, sessions } = scene;
    const question = await askedFor(scene);
    bot.press(me, question, "for this session");
    await expect.poll(() => bot.notices, patience).toContain("No rule: Nothing can cover it.");
    const rule = {
      tool: "command",
      pattern: "ls",
      words: "Allow commands that start with ls",
      tooBroad: null,
    } as const;
    sessions.rulesPreview = {
      rules: [{ ...rule, tooBroad: "It is everything." }],
      undriven: false,
      covers: true,
      refusal: null,
    };
    bot.press(me, question, "for this session");
    await expect.poll(() => bot.notices.some((notice) => notice.includes("too broad")), patience).toBe(true);
    sessions.rulesPreview = { ...sessions.rulesPreview, rules: [rule] };
    bot.press(me, question, "for this session");
    const offer = await scene.shown("Allow commands that start with ls");
    expect(sessions.answered).toEqual([]);

    // Rules other than the ones shown are not added.
    sessions.rulesPreview = { ...sessions.rulesPreview, rules: [{ ...rule, pattern: "l" }] };
    bot.press(me, offer, "Allow and remember");
    await expect.poll(() => bot.notices, patience).toContain("This choice is no longer available.");
    sessions.rulesPreview = { ...sessions.rulesPreview, rules: [rule] };
    bot.press(me, offer, "Allow and remember");
    await scene.shown("✅ Allowed for this session by @owner", ({ messageId }) => messageId === question.messageId);
    await scene.shown("✅ Allowed for this session by @owner", ({ messageId }) => messageId === offer.messageId);
    expect(sessions.answered).toEqual([
      {
        sessionId: [...sessions.all.keys()][0],
        permissionId: pendingPermission().permissionId,
        decision: "allow",
        remember: { for: "session", patterns: ["ls"] },
      },
    ]);
  });
});
