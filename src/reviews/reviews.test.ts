import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { base } from "../../test/support/session-list.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Caller } from "../wire/caller.ts";
import type { PromptFate } from "./ports.ts";
import { createReviews } from "./reviews.ts";

const text = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`).join("\n");

/** Reviews with files, prompts and outcomes set by a test. */
async function openReviews(openStore: OpenTestStore) {
  const { db } = await openStore();
  for (const [account_id, is_owner] of [
    ["owner", 1],
    ["anna", 0],
  ] as const) {
    await db.insertInto("accounts").values({ account_id, name: account_id, is_owner, created_at: base }).execute();
  }
  const files = new Map([
    ["new a.ts", text],
    ["new b.ts", text],
    ["old a.ts", "before\nthe change"],
  ]);
  const asked: { readonly text: string; readonly key: string }[] = [];
  const world: { fate: PromptFate; asking: () => Promise<void>; outside: (text: string) => boolean } = {
    fate: "running",
    asking: async () => undefined,
    outside: () => false,
  };
  const reviews = createReviews({
    db,
    clock: systemClock,
    ports: {
      async find(sessionId) {
        if (sessionId === "gone") throw new PosternError("session_not_found", "no such session");
        return { agent: "codex", sessionId };
      },
      readFiles: async (_id, wanted) => wanted.map(({ side, path }) => files.get(`${side} ${path}`) ?? null),
      async ask(prompt) {
        asked.push(prompt);
        await world.asking();
        return { deliveryState: "sent" };
      },
      fateOf: async () => world.fate,
      mentionsOutside: async (_id, prompt) => world.outside(prompt),
    },
  });
  const callerOf = (accountId: string, kind: Caller["kind"] = "browser"): Caller => ({
    accountId,
    kind,
    scopes: new Set(),
    folders: null,
  });
  const owner = callerOf("owner");
  const add = (path: string, line: number, body = "Why?") =>
    reviews.add({ sessionId: "s1", path, side: "new", line, body }, owner);
  const states = async () => (await reviews.list("s1", owner)).comments.map(({ state }) => state);
  return { reviews, files, asked, world, owner, anna: callerOf("anna"), app: callerOf("owner", "app"), add, states };
}

describeOnBothStores("review comments", (openStore) => {
  test("a comment follows its lines, is outdated without them, and belongs to its account and session", async () => {
    const { reviews, files, owner, anna, app, add } = await openReviews(openStore);
    const first = await add("b.ts", 3);
    expect(first).toMatchObject({
      ...{ path: "b.ts", line: 3, endLine: 3, outdated: false, state: "open", author: { kind: "person" } },
      snippet: { before: ["line 1", "line 2"], lines: ["line 3"], after: ["line 4", "line 5", "line 6"] },
    });
    const range = { sessionId: "s1", path: "a.ts", side: "new", line: 10, endLine: 12, body: "Both?" } as const;
    const second = await reviews.add({ ...range, snippet: "line 10\nline 11\nline 12", authorSessionId: "s2" }, app);
    expect(second).toMatchObject({ author: { kind: "app", sessionId: "s2" } });
    await reviews.add({ sessionId: "s1", path: "a.ts", side: "old", line: 2, body: "Was better" }, owner);
    files.set("new a.ts", `new\n${text}`);
    files.set("new b.ts", text.replace("line 3\n", ""));
    expect((await reviews.list("s1", owner)).comments).toMatchObject([
      { path: "a.ts", side: "old", line: 2, outdated: false },
      { path: "a.ts", side: "new", line: 11, endLine: 13, outdated: false },
      { path: "b.ts", line: 3, outdated: true },
    ]);
    files.delete("new b.ts");
    expect((await reviews.list("s1", owner)).comments.at(-1)).toMatchObject({ outdated: true });
    expect((await reviews.list("s1", anna)).comments).toEqual([]);
    expect((await reviews.list("s2", owner)).comments).toEqual([]);
    for (const change of [
      () => reviews.edit({ sessionId: "s1", commentId: first.commentId, body: "mine" }, anna),
      () => reviews.remove({ sessionId: "s1", commentId: first.commentId }, anna),
      () => reviews.send({ sessionId: "s1", commentIds: [first.commentId] }, anna),
      () => reviews.edit({ sessionId: "s2", commentId: first.commentId, state: "resolved" }, owner),
    ]) {
      expect(await errorCode(change())).toBe("comment_not_found");
    }
    expect(await errorCode(reviews.list("gone", owner))).toBe("session_not_found");
  });

  test("a comment on text that the file does not have is refused", async () => {
    const { reviews, owner, add, states } = await openReviews(openStore);
    expect(await errorCode(add("a.ts", 31))).toBe("comment_text_changed");
    expect(await errorCode(add("none.ts", 1))).toBe("comment_text_changed");
    const seen = { sessionId: "s1", path: "a.ts", side: "new", line: 2, body: "x", snippet: "line 3" } as const;
    expect(await errorCode(reviews.add(seen, owner))).toBe("comment_text_changed");
    expect(await errorCode(reviews.add({ ...seen, endLine: 1 }, owner))).toBe("invalid_request");
    expect(await errorCode(reviews.add({ ...seen, endLine: 500 }, owner))).toBe("invalid_request");
    expect(await errorCode(reviews.send({ sessionId: "s1" }, owner))).toBe("nothing_to_send");
    expect(await states()).toEqual([]);
  });

  test("sent comments are answered when their turn has ended, and open again if the prompt is lost or refused", async () => {
    const { reviews, world, owner, asked, add, states } = await openReviews(openStore);
    const { commentId } = await add("a.ts", 1, "First");
    await add("b.ts", 2, "Second");
    const preview = await reviews.preview({ sessionId: "s1" }, owner);
    expect(await states()).toEqual(["open", "open"]);
    expect(await reviews.send({ sessionId: "s1" }, owner)).toEqual({ ...preview, deliveryState: "sent" });
    expect(asked.map((prompt) => prompt.text)).toEqual([preview.prompt]);
    expect(await states()).toEqual(["sent", "sent"]);
    const edit = { sessionId: "s1", commentId, body: "Other" };
    expect(await errorCode(reviews.edit(edit, owner))).toBe("comment_already_sent");
    expect(await errorCode(reviews.send({ sessionId: "s1" }, owner))).toBe("nothing_to_send");
    await reviews.edit({ sessionId: "s1", commentId, state: "resolved" }, owner);
    world.fate = "ended";
    expect(await states()).toEqual(["resolved", "answered"]);
    expect(await reviews.edit({ ...edit, state: "open" }, owner)).toMatchObject({ body: "Other", state: "open" });
    for (const fate of ["lost", "none"] as const) {
      world.fate = fate;
      expect(await reviews.send({ sessionId: "s1" }, owner)).toMatchObject({ commentIds: [commentId], left: 0 });
      expect(await states()).toEqual(["open", "answered"]);
    }
    world.asking = async () => {
      expect(await states()).toEqual(["sent", "answered"]); // not lost: it is being delivered
      throw new PosternError("session_busy", "busy");
    };
    expect(await errorCode(reviews.send({ sessionId: "s1" }, owner))).toBe("session_busy");
    expect(await states()).toEqual(["open", "answered"]);
    expect(await reviews.remove({ sessionId: "s1", commentId }, owner)).toMatchObject({ deleted: { body: "Other" } });
    expect(await states()).toEqual(["answered"]);
  });

  test("of two prompts at once, each comment is in one", async () => {
    const { reviews, owner, asked, add } = await openReviews(openStore);
    for (const line of [1, 2, 3]) await add("a.ts", line, `Comment ${line}`);
    const codes = await Promise.all([1, 2].map(() => errorCode(reviews.send({ sessionId: "s1" }, owner))));
    expect(codes).toContain("nothing_to_send");
    expect(codes).toContain(null);
    expect(asked).toHaveLength(1);
  });

  test("mentions that lead outside are disarmed, and others stay", async () => {
    const { reviews, world, owner, add } = await openReviews(openStore);
    await add("a.ts", 1, "As in @src/b.ts");
    expect((await reviews.preview({ sessionId: "s1" }, owner)).prompt).toContain("@src/b.ts");
    world.outside = (prompt) => prompt.includes("@src");
    expect((await reviews.preview({ sessionId: "s1" }, owner)).prompt).toContain("＠src/b.ts");
  });

  test("viewed files are the account's own, and a mark can be replaced and removed", async () => {
    const { reviews, owner, anna } = await openReviews(openStore);
    await reviews.view({ sessionId: "s1", path: "b.ts", version: "1" }, owner);
    await reviews.view({ sessionId: "s1", path: "a.ts", version: "1" }, owner);
    const viewed = await reviews.view({ sessionId: "s1", path: "a.ts", version: "2" }, owner);
    expect(viewed.files).toEqual([
      { path: "a.ts", version: "2" },
      { path: "b.ts", version: "1" },
    ]);
    expect((await reviews.viewed("s1", anna)).files).toEqual([]);
    await reviews.view({ sessionId: "s1", path: "b.ts", version: null }, owner);
    expect((await reviews.viewed("s1", owner)).files).toEqual([{ path: "a.ts", version: "2" }]);
  });
});
