import { claudeCode } from "../../src/agents/claude-code/claude-code.ts";
import { codex } from "../../src/agents/codex/codex.ts";
import type { ExternalHolder } from "../../src/agents/template.ts";
import type { TranscriptRow } from "../../src/catalog/catalog-tables.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createFolders } from "../../src/folders/index.ts";
import { createDirs, createVisibleDirs } from "../../src/sessions/dirs.ts";
import { createList } from "../../src/sessions/list.ts";
import { createPromptQueue } from "../../src/sessions/prompt-queue.ts";
import { createNoteStore } from "../../src/sessions/session-notes.ts";
import { createSessionPages } from "../../src/sessions/session-pages.ts";
import { createSessionStore, type SessionRecord } from "../../src/sessions/session-store.ts";
import type { Caller } from "../../src/wire/caller.ts";
import { type ListInput, type ListOutput, listInputSchema } from "../../src/wire/session-lists.ts";
import type { OpenTestStore } from "./database.ts";
import { sessionRecord } from "./session-record.ts";
import { catalogPlaceOf, openTestCatalog, openTestCatalogReader, transcriptRow } from "./test-catalog.ts";

/** A caller that can see everything. */
export const owner: Caller = { accountId: "owner", scopes: new Set(), folders: null };
export const day = 86_400_000;
/** The default creation time of what a test writes. */
export const base = Date.parse("2026-03-01T00:00:00.000Z");

/** The list of sessions and that of their directories, over a real store and a catalog whose rows the test writes. */
export async function openSessionList(openStore: OpenTestStore) {
  const store = await openStore();
  const place = catalogPlaceOf(store);
  const writer = await openTestCatalog(place);
  const reader = await openTestCatalogReader(place);
  const sessions = createSessionStore(store.db, { nodeId: "local" });
  const notes = createNoteStore(store.db);
  const queue = createPromptQueue(store.db, systemClock);
  const folders = createFolders({ db: store.db, clock: systemClock, home: "/nowhere" });
  const external = new Map<string, ExternalHolder>();
  const roots: { path: string; repository: string }[] = [];
  let meanwhile = async (): Promise<void> => undefined;
  let indexing: ListOutput["indexing"] = null;
  const templates = [
    { ...claudeCode, externalSessions: async () => external },
    { ...codex, externalSessions: async () => new Map() },
  ];
  const catalog = { database: async () => reader, firstPage: async () => undefined, indexing: () => indexing };
  const pages = createSessionPages({
    catalog,
    store: sessions,
    queue,
    live: { all: () => [] },
    worktrees: { ofSession: async () => null },
    notes,
    templates,
    environmentOf: () => ({}),
  });
  const worktrees = {
    async worktreeRoots() {
      await meanwhile();
      return roots;
    },
  };
  const visibleDirs = createVisibleDirs({
    visibleAmong: (dirs, rule) => folders.visibleAmong(dirs, rule),
    worktrees,
  });
  const dirs = createDirs({ catalog, visibleDirs, worktrees });
  const list = createList({ catalog, pages, visibleDirs, templates });
  let written = 0;

  return {
    store,
    notes,
    folders,
    external,
    roots,
    queue,
    indexing: (now: ListOutput["indexing"]) => {
      indexing = now;
    },
    /** Happens in the middle of each list, while it is found out what the caller may see. */
    meanwhile: (happens: () => Promise<void>) => {
      meanwhile = happens;
    },
    dirs: async (caller = owner) => (await dirs(caller)).dirs.map((each) => Object.values(each)),
    list: (input: ListInput = {}, caller = owner) => list(listInputSchema.parse(input), caller),
    ids: async (input: ListInput = {}, caller = owner) =>
      (await list(listInputSchema.parse(input), caller)).sessions.map(({ sessionId }) => sessionId),
    async transcript(sessionId: string, row: Partial<TranscriptRow> = {}): Promise<void> {
      written += 1;
      await writer.db
        .insertInto("transcripts")
        .values(
          transcriptRow({
            transcript_id: written,
            path: `/t/${sessionId}-${written}.jsonl`,
            session_id: sessionId,
            branch: "main",
            model: "m",
            title: `About ${sessionId}`,
            created_at: base,
            updated_at: base,
            ...row,
          }),
        )
        .execute();
    },
    record: (sessionId: string, record: Partial<SessionRecord> = {}): Promise<void> =>
      sessions.insert(
        sessionRecord({ sessionId, agent: "claude-code", dir: "/code", createdAt: base, updatedAt: base, ...record }),
      ),
  };
}
