import { onTestFinished } from "vitest";
import { createAudit } from "../../src/accounts/audit.ts";
import { findTerms, parseQuery, snippetOf } from "../../src/catalog/query.ts";
import { foldText, wordsOf } from "../../src/catalog/text-index-words.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { PosternError } from "../../src/core/errors.ts";
import { newUuid } from "../../src/core/ids.ts";
import { silentLog } from "../../src/core/log.ts";
import { holds } from "../../src/folders/real-path.ts";
import {
  type DeletionOrigin,
  type Extractor,
  type Logs,
  type LogsCaller,
  type NamesOf,
  type NoteDeletion,
  openLogs,
  type ResolveDir,
  type SearchText,
  type VisibleAmong,
} from "../../src/logs/index.ts";
import { createErasure, type Erasure } from "../../src/storage/erasure.ts";
import type { Block, Turn } from "../../src/wire/turn.ts";
import type { TestStore } from "./database.ts";

/** The definition of a word, as everywhere. */
export const searchText: SearchText = {
  words: (text) => wordsOf(foldText(text)),
  terms: parseQuery,
  places: findTerms,
  snippet: snippetOf,
};

/** A memory in a store, closed with the test. */
export async function openTestLogs(
  store: Pick<TestStore, "db" | "dialect">,
  options: {
    readonly clock?: Clock;
    readonly extractor?: Extractor | null;
    readonly visibleAmong?: VisibleAmong;
    readonly namesOf?: NamesOf;
    readonly erasure?: Erasure;
  } = {},
): Promise<Logs> {
  const logs = await openLogs({
    ...store,
    clock: systemClock,
    searchText,
    ...anyFolder,
    namesOf: async (sessionId) => [sessionId],
    noteDeletion: auditDeletions(store),
    erasure: openTestErasure(store),
    ...options,
  });
  onTestFinished(() => logs.close());
  return logs;
}

/** What erases in a store, closed with the test. */
export function openTestErasure(store: Pick<TestStore, "db" | "dialect">): Erasure {
  const erasure = createErasure({ ...store, clock: systemClock, log: silentLog });
  onTestFinished(() => erasure.close());
  return erasure;
}

/** The folder rule while no folder is registered, without links. */
export const anyFolder: { readonly visibleAmong: VisibleAmong; readonly resolveDir: ResolveDir } = {
  async visibleAmong(dirs, within) {
    return new Set(dirs.filter((dir) => within === null || within.some((folder) => holds(folder, dir))));
  },
  async resolveDir(dir, within) {
    if (within === null || within.some((folder) => holds(folder, dir))) return dir;
    throw new PosternError("dir_not_allowed", `${dir} is not allowed.`);
  },
};

/** As the gateway does it. */
export function auditDeletions({ db }: Pick<TestStore, "db">): NoteDeletion {
  const audit = createAudit({ db, clock: systemClock });
  return (note, within) => audit.note(note, within);
}

/** The origin of deletions in tests. */
export const tester: DeletionOrigin = { actor: "test", address: null, userAgent: null };

/** A caller without a limit to folders. */
export function whole(accountId: string): LogsCaller {
  return { accountId, folders: null };
}

/** A new account that can have entries. */
export async function addAccount({ db }: Pick<TestStore, "db">): Promise<string> {
  const account_id = newUuid();
  await db.insertInto("accounts").values({ account_id, name: account_id, is_owner: 0, created_at: 1 }).execute();
  return account_id;
}

/** A turn that says or does this. */
export function turnOf(index: number, blocks: readonly (Block | string)[], at = "2025-05-05T10:00:00Z"): Turn {
  const all = blocks.map((block): Block => (typeof block === "string" ? { type: "text", text: block } : block));
  return {
    index,
    role: index % 2 === 0 ? "user" : "assistant",
    at,
    endedAt: at,
    text: "",
    blocks: all,
    model: null,
    usage: null,
  };
}

/** A call of a tool with its result. */
export function callOf(name: string, input: unknown, { ok = true, text = "" } = {}): Block {
  return { type: "tool_call", id: "c1", name, input, result: { ok, text, truncated: false } };
}
