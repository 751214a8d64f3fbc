import { stripVTControlCharacters } from "node:util";
import type { Kysely } from "kysely";
import type { CatalogTables } from "./catalog-tables.ts";
import { foldText, wordBoundary } from "./text-index-words.ts";
import {
  createPostgresTextStore,
  createSqliteTextStore,
  maxParts,
  type PartId,
  partIdOf,
  type TextStore,
} from "./text-store.ts";
import type { TextIndex } from "./turn-collector.ts";

/**
 * Text is stored in parts of this size, across turns: few enough that common words are found quickly, and small enough that the last part
 * of a growing transcript is rewritten quickly. PostgreSQL keeps 255 positions of a word in each.
 */
const maxPartBytes = 12_000;
/** How far a cut moves back to fall between words. */
const nudgeCharacters = 200;
/** Searchable start of a first message; the rest is found with `in: "all"`. */
const maxHeadCharacters = 1_000;

/** A turn's text, or some of it, in a part. */
export interface Piece {
  readonly turnIndex: number;
  readonly text: string;
}

const afterIndex = "\u001f";
const afterPiece = "\u001e";
/** Includes both separators, so that no text contains them. PostgreSQL rejects NUL. */
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export function createTextStore(db: Kysely<CatalogTables>, dialect: "sqlite" | "postgres"): TextStore {
  return dialect === "sqlite" ? createSqliteTextStore(db) : createPostgresTextStore(db);
}

/** The index for writing, in the caller's transaction. */
export function createTextIndex(db: Kysely<CatalogTables>, dialect: "sqlite" | "postgres"): TextIndex {
  const store = createTextStore(db, dialect);

  return {
    async add(transcriptId, texts, { isNew } = { isNew: false }) {
      if (texts.length === 0) return;
      let part = isNew ? emptyPart(partIdOf(transcriptId, 0)) : await openLastPart(store, transcriptId);
      for (const { turnIndex, text, restarts } of texts) {
        if (restarts === true) {
          await writePart(store, part);
          await cutBack(store, transcriptId, turnIndex);
          part = await openLastPart(store, transcriptId);
        }
        for (const slice of slices(clean(text))) {
          const bytes = Buffer.byteLength(slice);
          if (part.bytes > 0 && part.bytes + bytes > maxPartBytes) {
            await writePart(store, part);
            if (part.partId + 1 >= partIdOf(transcriptId + 1, 0)) return; // 12 GB of text: the rest is not indexed
            part = emptyPart(part.partId + 1);
          }
          part.pieces.push({ turnIndex, text: slice });
          part.bytes += bytes;
          part.changed = true;
        }
      }
      await writePart(store, part);
    },
    async setHead(transcriptId, { title, firstMessage }, { isNew } = { isNew: false }) {
      await store.putHead(transcriptId, {
        title: clean((title ?? "").slice(0, maxHeadCharacters)),
        firstMessage: clean((firstMessage ?? "").slice(0, maxHeadCharacters)),
        isNew,
      });
    },
    remove: (transcriptId) => store.drop(transcriptId),
  };
}

interface OpenPart {
  readonly partId: PartId;
  readonly pieces: Piece[];
  bytes: number;
  readonly isNew: boolean;
  changed: boolean;
}

function emptyPart(partId: PartId): OpenPart {
  return { partId, pieces: [], bytes: 0, isNew: true, changed: false };
}

async function openLastPart(store: TextStore, transcriptId: number): Promise<OpenPart> {
  const last = await store.lastPart(transcriptId);
  if (last === null) return emptyPart(partIdOf(transcriptId, 0));
  const pieces = piecesOf(last.content);
  const bytes = pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return { partId: last.partId, pieces, bytes, isNew: false, changed: false };
}

async function writePart(store: TextStore, { partId, pieces, isNew, changed }: OpenPart): Promise<void> {
  if (!changed) return;
  const content = pieces.map(({ turnIndex, text }) => `${turnIndex}${afterIndex}${text}`).join(afterPiece);
  const folded = pieces.map(({ text }) => foldText(text)).join(` ${wordBoundary} `);
  await store.putPart(partId, { content, folded, isNew });
}

/** Removes text from a turn on. */
async function cutBack(store: TextStore, transcriptId: number, turnIndex: number): Promise<void> {
  for (let round = 0; round < maxParts; round++) {
    const part = await openLastPart(store, transcriptId);
    if (part.isNew) return;
    const kept = part.pieces.filter((piece) => piece.turnIndex < turnIndex);
    if (kept.length === part.pieces.length) return;
    if (kept.length === 0) await store.dropPart(part.partId);
    else await writePart(store, { ...part, pieces: kept, changed: true });
    if (kept.length > 0) return;
  }
}

/** The pieces of a part's content, in order. */
export function piecesOf(content: string): Piece[] {
  return content.split(afterPiece).map((piece) => {
    const end = piece.indexOf(afterIndex);
    return { turnIndex: Number(piece.slice(0, end)), text: piece.slice(end + 1) };
  });
}

function clean(text: string): string {
  const plain = text.includes("\u001b") ? stripVTControlCharacters(text) : text;
  return plain.toWellFormed().replace(control, " ");
}

/** Splits a text into slices that fit a part, between words where possible. */
function* slices(text: string): Generator<string> {
  // A UTF-16 unit is at most three bytes.
  const size = Buffer.byteLength(text) === text.length ? maxPartBytes : maxPartBytes / 3;
  for (let at = 0; at < text.length; ) {
    const end = at + size >= text.length ? text.length : cutNear(text, at + size);
    yield text.slice(at, end);
    at = end;
  }
}

function cutNear(text: string, wanted: number): number {
  const space = text.slice(wanted - nudgeCharacters, wanted).search(/\s\S*$/);
  if (space >= 0) return wanted - nudgeCharacters + space + 1;
  const last = text.charCodeAt(wanted - 1);
  return last >= 0xd800 && last <= 0xdbff ? wanted - 1 : wanted;
}
