import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import type { ReviewComment } from "../wire/reviews.ts";
import type { Anchor, LineRange } from "./anchor.ts";
import type { CommentRow } from "./comment-store.ts";

const anchorSchema: z.ZodType<Anchor> = z.object({
  line: z.int(),
  lines: z.array(z.string()),
  before: z.array(z.string()),
  after: z.array(z.string()),
  fromStart: z.boolean(),
  toEnd: z.boolean(),
  rival: z.int(),
  fileHash: z.string(),
});

/** More lines are stored to find it again; a reader needs only a few. */
const shownContext = 3;

/** The lines that a comment is about, as stored. */
export function anchorIn(row: Pick<CommentRow, "anchor">): Anchor {
  return anchorSchema.parse(JSON.parse(row.anchor));
}

/** @param found where its lines are now; null if it is outdated */
export function shownComment(row: CommentRow, anchor: Anchor, found: LineRange | null): ReviewComment {
  const { line, lines, before, after } = anchor;
  return {
    commentId: row.comment_id,
    path: row.path,
    side: row.side,
    line: found?.line ?? line,
    endLine: found?.endLine ?? line + lines.length - 1,
    outdated: found === null,
    snippet: { before: before.slice(-shownContext), lines: [...lines], after: after.slice(0, shownContext) },
    body: row.body,
    state: row.state,
    author: { kind: row.author_kind, sessionId: row.author_session_id },
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
