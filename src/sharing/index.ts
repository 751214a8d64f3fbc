import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import type { Caller } from "../wire/caller.ts";
import type { ExportFormat, Share } from "../wire/sharing.ts";
import { type ConversationFormat, exportSession, jsonFormat } from "./export-session.ts";
import { markdownFormat } from "./markdown-export.ts";
import type { Masking, ReadTurns, ShareCreator, StillReads } from "./ports.ts";
import { createShareStore, shareGone, type ValidShare } from "./shares.ts";

export { createFork, type Fork } from "./fork.ts";
export type { ForkPorts, Masking, ReadPart, ReadTurns, ShareCreator, StillReads } from "./ports.ts";

/** Codes that this capability throws, in addition to those of its ports. */
export type SharingErrorCode = "share_not_found" | "invalid_request";

/** Makes a conversation available to others, as a file or as a page behind a link. Secrets are masked as in memory. */
export interface Sharing {
  /**
   * The pieces of a document, written while they are read.
   * @throws what {@link ReadTurns} throws, with the first piece
   */
  export(
    sessionId: string,
    format: ExportFormat,
    by: { readonly caller: Caller; readonly signal: AbortSignal },
  ): Promise<AsyncGenerator<string, void>>;
  /**
   * Creates a link that reads this session as its creator can.
   * @param note called in the same transaction, for the audit log
   * @returns the link's secret, which cannot be read again
   * @throws what {@link ReadTurns} throws, and PosternError `invalid_request`
   */
  create(
    sessionId: string,
    expiresInMs: number,
    by: { readonly creator: ShareCreator; readonly signal: AbortSignal; readonly note: NoteShare },
  ): Promise<{ readonly secret: string; readonly share: Share }>;
  /** The caller's active links to this session, newest first. @throws what {@link ReadTurns} throws */
  list(sessionId: string, by: { readonly caller: Caller; readonly signal: AbortSignal }): Promise<readonly Share[]>;
  /** Takes effect immediately. @throws PosternError `share_not_found` */
  revoke(accountId: string, shareId: string, note: NoteShare): Promise<void>;
  /**
   * The page behind a link: the conversation as it is now.
   * @returns `policy`: the page's content security policy; `isFirst`: whether it is opened for the first time
   * @throws PosternError `share_not_found`, also if its creator can no longer read the session
   */
  open(
    secret: string,
    signal: AbortSignal,
  ): Promise<{
    readonly pieces: AsyncGenerator<string, void>;
    readonly policy: string;
    readonly share: Share;
    readonly isFirst: boolean;
  }>;
  /** Revokes all links to a session, given all names that it ever had. */
  forget(sessionIds: readonly string[]): Promise<void>;
}

/** Writes to the audit log. */
export type NoteShare = (share: Share, within: Kysely<Tables>) => Promise<void>;

/** Anyone can open a shared page, so its size is limited. An export has no limit. */
const maxSharedCharacters = 20_000_000;

export function createSharing(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly read: ReadTurns;
  readonly masking: Masking;
  readonly stillReads: StillReads;
  readonly namesOf: (sessionId: string) => Promise<readonly string[]>;
}): Sharing {
  const { db, clock, read, masking, stillReads } = deps;
  const store = createShareStore(deps);
  const firstTurn = { after: -1, limit: 1, images: false };

  /** A revoked link ends even while it is being read. */
  async function readShared(
    share: ValidShare,
    range: Parameters<ReadTurns>[1],
    signal: AbortSignal,
  ): ReturnType<ReadTurns> {
    if (!(await store.isInForce(share.shareId)) || !(await stillReads(share))) return shareGone();
    const { accountId, folders } = share;
    const caller = { accountId, folders, scopes: new Set<Scope>(["coding:read"]) };
    try {
      return await read(share.sessionId, range, { caller, signal });
    } catch (error) {
      if (hasCode(error, "session_not_found")) return shareGone();
      throw error;
    }
  }

  return {
    async export(sessionId, format, by) {
      const pieces = exportSession((range) => read(sessionId, range, by), {
        format: await formatOf(format),
        masking,
        shared: null,
        maxCharacters: Number.POSITIVE_INFINITY,
      });
      return pieces;
    },

    async create(sessionId, expiresInMs, { creator, signal, note }) {
      const session = await read(sessionId, firstTurn, { caller: creator, signal });
      const expiresAt = Math.min(clock.now() + expiresInMs, creator.until ?? Number.POSITIVE_INFINITY);
      const wanted = { sessionId: session.sessionId, expiresAt };
      return db.transaction().execute(async (within) => {
        const created = await store.create(creator, wanted, within);
        await note(created.share, within);
        return created;
      });
    },

    async list(sessionId, by) {
      const session = await read(sessionId, firstTurn, by);
      return store.list(by.caller.accountId, await deps.namesOf(session.sessionId));
    },

    revoke: (accountId, shareId, note) =>
      db.transaction().execute(async (within) => note(await store.revoke(accountId, shareId, within), within)),

    async open(secret, signal) {
      const share = (await store.find(secret)) ?? shareGone();
      const { htmlFormat, documentPolicy } = await import("./html-export.ts");
      const pieces = exportSession((range) => readShared(share, range, signal), {
        format: htmlFormat,
        masking,
        shared: share,
        maxCharacters: maxSharedCharacters,
      });
      const first = await pieces.next();
      const isFirst = await store.noteOpen(share.shareId);
      return { share, isFirst, policy: documentPolicy, pieces: joined(first.value ?? "", pieces) };
    },

    forget: (sessionIds) => store.removeOf(sessionIds),
  };
}

async function* joined(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  yield first;
  yield* rest;
}

/** The HTML writer is loaded at its first use. */
async function formatOf(format: ExportFormat): Promise<ConversationFormat> {
  if (format === "html") return (await import("./html-export.ts")).htmlFormat;
  return format === "json" ? jsonFormat : markdownFormat;
}
