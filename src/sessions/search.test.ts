import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import {
  catalogPlaceOf,
  openTestCatalog,
  openTestCatalogReader,
  transcriptRow,
} from "../../test/support/test-catalog.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { codex } from "../agents/codex/codex.ts";
import { createTextIndex } from "../catalog/text-index.ts";
import type { Caller } from "../wire/caller.ts";
import type { SearchInput, SearchOutput } from "../wire/session-lists.ts";
import { createVisibleDirs } from "./dirs.ts";
import { createSearch } from "./search.ts";

const owner: Caller = { accountId: "owner", scopes: new Set(), folders: null };

interface Written {
  readonly agent?: string;
  readonly dir?: string;
  readonly title?: string | null;
  readonly turns?: readonly string[];
  readonly listed?: number;
  readonly updatedAt?: number;
}

/** A catalog with these sessions, updated one after the other, and a search in it. */
async function openSearch(openStore: OpenTestStore, sessions: Readonly<Record<string, Written>>) {
  const store = await openStore();
  const place = catalogPlaceOf(store);
  const catalog = await openTestCatalog(place);
  const reader = await openTestCatalogReader(place);
  const index = createTextIndex(catalog.db, catalog.dialect);
  for (const [at, [sessionId, written]] of Object.entries(sessions).entries()) {
    const { agent = "claude-code", dir = "/code", turns = [], listed = 1, updatedAt = at } = written;
    const firstMessage = turns[0] ?? null;
    const title = written.title === undefined ? firstMessage : written.title;
    await catalog.db
      .insertInto("transcripts")
      .values(
        transcriptRow({
          transcript_id: at + 1,
          path: `/t/${sessionId}-${at}.jsonl`,
          agent,
          format: agent === "codex" ? "codex" : "claude",
          session_id: sessionId,
          listed,
          dir,
          title,
          first_prompt: firstMessage,
          created_at: at,
          updated_at: updatedAt,
          turn_count: turns.length,
        }),
      )
      .execute();
    await index.setHead(at + 1, { title, firstMessage });
    await index.add(
      at + 1,
      turns.map((text, turnIndex) => ({ turnIndex, role: turnIndex % 2 === 0 ? "user" : "assistant", text })),
    );
  }
  let hidden: readonly string[] = [];
  const search = createSearch({
    catalog: {
      database: async () => reader,
      firstPage: async () => undefined,
      indexing: () => null,
    },
    pages: {
      alive: async () => ({ live: new Map(), external: new Map(), running: [], starting: [], needing: [] }),
      summaries: async (rows) => rows.map(({ sessionId, agent }) => sessionSummary({ sessionId, agent })),
    },
    visibleDirs: createVisibleDirs({
      visibleAmong: async (dirs, { within }) =>
        new Set(
          dirs.filter(
            (dir) =>
              !hidden.includes(dir) && (within === null || within.some((root) => `${dir}/`.startsWith(`${root}/`))),
          ),
        ),
      worktrees: { worktreeRoots: async () => [] },
    }),
    templates: [claudeCode, codex],
  });
  const run = (input: SearchInput, caller: Caller = owner): Promise<SearchOutput> => search(input, caller);
  return {
    store,
    run,
    hide: (...dirs: readonly string[]) => {
      hidden = dirs;
    },
    ids: async (input: SearchInput, caller: Caller = owner) =>
      (await run(input, caller)).sessions.map(({ sessionId }) => sessionId),
  };
}

describeOnBothStores("a search", (openStore) => {
  test("looks at titles and first messages; with `all` at every turn", async () => {
    const { run, ids } = await openSearch(openStore, {
      titled: { title: "Login page", turns: ["please fix the redirect", "the cookie was missing"] },
      said: { title: "Something", turns: ["What is a login?", "x", "and a cookie"] },
    });
    expect(await ids({ query: "login" })).toEqual(["titled", "said"]);
    expect(await ids({ query: "cookie" })).toEqual([]);
    expect((await run({ query: "redirect" })).sessions[0]?.match).toEqual({
      field: "first_message",
      turnIndex: 0,
      snippet: "please fix the redirect",
    });
    expect(await ids({ query: "login redi" }), "title and first message together").toEqual(["titled"]);
    const all = await run({ query: "cookie", in: "all" });
    expect(all).toMatchObject({ total: 2, limit: 10, offset: 0, hasMore: false, indexing: null });
    expect(Object.fromEntries(all.sessions.map(({ sessionId, match }) => [sessionId, match]))).toEqual({
      titled: { field: "turn", turnIndex: 1, snippet: "the cookie was missing" },
      said: { field: "turn", turnIndex: 2, snippet: "and a cookie" },
    });
    expect(await ids({ query: "login cookie", in: "all" })).toHaveLength(2);
  });

  test("puts titles first and, of equal ones, the most recently updated", async () => {
    const { ids } = await openSearch(openStore, {
      middle: { title: "Fix cache", turns: ["x"], updatedAt: 50 },
      often: { title: "Other", turns: ["cache cache cache cache"], updatedAt: 99 },
      late: { title: "Fix cache", turns: ["x"], updatedAt: 70 },
      early: { title: "Fix cache", turns: ["x"], updatedAt: 10 },
    });
    expect(await ids({ query: "cache" })).toEqual(["late", "middle", "early", "often"]);
    expect(await ids({ query: "cache", in: "all" })).toEqual(["late", "middle", "early", "often"]);
  });

  test("pages through what it found, without a gap", async () => {
    const sessions = Object.fromEntries(
      Array.from({ length: 25 }, (_, n) => [`s${n}`, { turns: [`common word ${n}`] }]),
    );
    const { run, ids } = await openSearch(openStore, sessions);
    const seen: string[] = [];
    for (let offset = 0; offset < 25; offset += 7) {
      const page = await run({ query: "common", in: "all", limit: 7, offset });
      expect(page).toMatchObject({ total: 25, limit: 7, offset, hasMore: offset + 7 < 25 });
      seen.push(...page.sessions.map(({ sessionId }) => sessionId));
    }
    expect(new Set(seen)).toEqual(new Set(Object.keys(sessions)));
    expect(seen).toHaveLength(25);
    expect(await ids({ query: "common" })).toHaveLength(10);
    expect(await run({ query: "common", offset: 100 })).toMatchObject({ sessions: [], total: 25, hasMore: false });
  });

  test("never counts, pages or shows what the caller may not see", async () => {
    const { run, ids, hide } = await openSearch(openStore, {
      open1: { dir: "/code/a", turns: ["secret plan"] },
      hidden1: { dir: "/private", title: "secret plan", turns: ["secret plan secret"] },
      open2: { dir: "/code/a/deep", turns: ["secret plan"] },
      hidden2: { dir: "/private", turns: ["secret only here"] },
    });
    expect(await ids({ query: "secret" })).toHaveLength(4);
    hide("/private");
    for (const where of ["title", "all"] as const) {
      const first = await run({ query: "secret", in: where, limit: 1 });
      expect(first).toMatchObject({ total: 2, hasMore: true });
      expect(await ids({ query: "secret", in: where })).toEqual(["open2", "open1"]);
      expect(await run({ query: "secret only here", in: where })).toMatchObject({ sessions: [], total: 0 });
    }
    const guest = { ...owner, folders: ["/code/a/deep"] };
    expect(await run({ query: "secret" }, guest)).toMatchObject({ sessions: [{ sessionId: "open2" }], total: 1 });
  });

  test("is limited to an agent and to a folder", async () => {
    const { ids, run } = await openSearch(openStore, {
      one: { dir: "/code/a", turns: ["word"] },
      two: { dir: "/code/ab", turns: ["word"], agent: "codex" },
      three: { dir: "/code/a/b", turns: ["word"], agent: "codex" },
    });
    expect(await ids({ query: "word", dir: "/code/a" })).toEqual(["three", "one"]);
    expect(await ids({ query: "word", agent: "agent_b" })).toEqual(["three", "two"]);
    expect(await ids({ query: "word", agent: "codex", dir: "/code/a" })).toEqual(["three"]);
    expect(await ids({ query: "word", dir: "/nowhere" })).toEqual([]);
    expect(await errorCode(run({ query: "word", agent: "nobody" }))).toBe("agent_unknown");
    expect(await errorCode(run({ query: "word", dir: "here" }))).toBe("invalid_request");
  });

  test("shows no transcript that is a copy or a part of another session", async () => {
    const { ids } = await openSearch(openStore, { copy: { turns: ["word"], listed: 0 }, real: { turns: ["word"] } });
    expect(await ids({ query: "word", in: "all" })).toEqual(["real"]);
  });

  test("finds sessions on record that have written nothing, by their title", async () => {
    const { store, ids, run, hide } = await openSearch(openStore, {
      written: { dir: "/code", turns: ["started well"] },
      untitled: { dir: "/code", title: null, turns: [] },
    });
    const record = {
      node_id: "n",
      agent: "claude-code",
      model: null,
      permission_mode: "ask",
      transcript_path: null,
      launch_id: null,
      terminal_id: null,
      created_at: 1,
      updated_at: 50,
      closed_at: null,
      exit_code: null,
      signal: null,
      last_screen: null,
      continued_by: null,
    };
    for (const [session_id, title, dir] of [
      ["new", "Started just now", "/code"],
      ["other", "Stopped", "/code"],
      ["far", "Started elsewhere", "/private"],
      ["untitled", "Started untitled", "/code"],
      ["written", "Started and titled by its transcript", "/code"],
    ]) {
      if (session_id === undefined || dir === undefined) continue;
      await store.db
        .insertInto("sessions")
        .values({ ...record, session_id, title: title ?? null, dir })
        .execute();
    }
    hide("/private");
    expect((await ids({ query: "start" })).toSorted()).toEqual(["new", "untitled", "written"]);
    expect((await ids({ query: "start", in: "all" })).toSorted()).toEqual(["new", "untitled", "written"]);
    expect((await run({ query: "just now" })).sessions[0]?.match).toEqual({
      field: "title",
      turnIndex: null,
      snippet: "Started just now",
    });
    expect(await run({ query: "elsewhere" })).toMatchObject({ total: 0 });
  });

  test.each(["", "   ", '""', "?!…", "-- | &"])(
    "refuses %j, in which there is nothing to search for",
    async (query) => {
      const { run } = await openSearch(openStore, {});
      const error = await run({ query }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "invalid_request", message: expect.stringContaining("at least one letter") });
    },
  );

  test("takes 32 different words and phrases, and refuses more", async () => {
    const { run } = await openSearch(openStore, {});
    const words = Array.from({ length: 33 }, (_, at) => `w${at}`);
    expect(await run({ query: [...words.slice(0, 32), "w0 w1."].join(" ") })).toMatchObject({ total: 0 });
    expect(await run({ query: `"${words.join(" ")}"` }), "one phrase").toMatchObject({ total: 0 });
    const error = await run({ query: words.join(" ") }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "invalid_request", message: expect.stringContaining("the maximum is 32") });
  });

  test("finds what people noted: by the given title first, with their filters before anything is counted", async () => {
    const { store, run, ids } = await openSearch(openStore, {
      plain: { title: "Fix cache", turns: ["x"], updatedAt: 9 },
      renamed: { title: "Other", turns: ["cache"], updatedAt: 1 },
      archived: { title: "Old cache", turns: ["x"], updatedAt: 5 },
    });
    const note = { agent: "claude-code", title: null, pinned_at: null, archived_at: null, updated_at: 1 };
    await store.db
      .insertInto("session_notes")
      .values([
        { ...note, session_id: "renamed", title: "The best cache", pinned_at: 1 },
        { ...note, session_id: "archived", archived_at: 1 },
        { ...note, session_id: "gone", title: "A cache that is gone" },
      ])
      .execute();
    await store.db
      .insertInto("session_labels")
      .values({ agent: "claude-code", session_id: "plain", label: "red" })
      .execute();
    expect(await ids({ query: "cache" })).toEqual(["plain", "archived", "renamed"]);
    expect((await run({ query: "best" })).sessions).toMatchObject([
      { sessionId: "renamed", match: { field: "title", snippet: "The best cache" } },
    ]);
    for (const [filters, found] of [
      [{ archived: false }, ["plain", "renamed"]],
      [{ archived: true }, ["archived"]],
      [{ pinned: true }, ["renamed"]],
      [{ label: "Red" }, ["plain"]],
      [{ label: "red", pinned: true }, []],
      [{ status: "completed" }, ["plain", "archived", "renamed"]],
      [{ status: "running" }, []],
    ] as const) {
      const page = await run({ query: "cache", ...filters, limit: 1 });
      expect(page, JSON.stringify(filters)).toMatchObject({ total: found.length, hasMore: found.length > 1 });
      expect(await ids({ query: "cache", ...filters }), JSON.stringify(filters)).toEqual(found);
    }
  });
});
