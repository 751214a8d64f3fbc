import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Tables } from "../storage/schema.ts";
import type { Caller } from "../wire/caller.ts";
import {
  type AddCommentInput,
  type DeleteCommentInput,
  type DeletedComment,
  type EditCommentInput,
  maxCommentedLines,
  type ReviewComment,
  type ReviewComments,
  type ReviewPrompt,
  type SendReviewInput,
  type SentReview,
  type ViewedFiles,
  type ViewFileInput,
} from "../wire/reviews.ts";
import { anchorOf, findAnchor, linesOf } from "./anchor.ts";
import { type CommentRow, createCommentStore, type ReviewKey } from "./comment-store.ts";
import { notFound, reviewError } from "./errors.ts";
import type { ReviewPorts } from "./ports.ts";
import { reviewPrompt, withoutMentions } from "./review-prompt.ts";
import { anchorIn, shownComment } from "./shown-comment.ts";

/** Comments on the changes of sessions, each visible to the account that made it. */
export interface Reviews {
  list(sessionId: string, caller: Caller): Promise<ReviewComments>;
  /** @throws PosternError `comment_text_changed` | `invalid_request` | `too_large` */
  add(input: AddCommentInput, caller: Caller): Promise<ReviewComment>;
  /** @throws PosternError `comment_not_found` | `comment_already_sent` for a change to the text of a sent comment */
  edit(input: EditCommentInput, caller: Caller): Promise<ReviewComment>;
  /** @throws PosternError `comment_not_found` */
  remove(input: DeleteCommentInput, caller: Caller): Promise<DeletedComment>;
  /** The prompt that {@link Reviews.send} would send. */
  preview(input: SendReviewInput, caller: Caller): Promise<ReviewPrompt>;
  /** Sends open comments as one prompt. @throws PosternError `nothing_to_send` | `comment_not_found`, and the errors of `coding_ask` */
  send(input: SendReviewInput, caller: Caller): Promise<SentReview>;
  viewed(sessionId: string, caller: Caller): Promise<ViewedFiles>;
  view(input: ViewFileInput & { readonly sessionId: string }, caller: Caller): Promise<ViewedFiles>;
}

/** Limit for each account and session; more than a single review needs. */
const maxComments = 500;
/** Limit for the lines of one comment, in characters. */
const maxSnippetLength = 65_536;

interface ListedReview extends ReviewComments {
  readonly key: ReviewKey;
  readonly rows: readonly CommentRow[];
}

/** @see Reviews */
export function createReviews(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly ports: ReviewPorts;
}): Reviews {
  const { clock, ports } = deps;
  const store = createCommentStore(deps.db);
  const lock = createKeyedLock();
  /** Prompts that are on their way to the agent, by their key. */
  const underWay = new Set<string>();

  async function keyOf(sessionId: string, caller: Caller): Promise<ReviewKey> {
    const found = await ports.find(sessionId, caller);
    return { account_id: caller.accountId, agent: found.agent, session_id: found.sessionId };
  }

  function holding<T>({ account_id, session_id }: ReviewKey, task: () => Promise<T>): Promise<T> {
    return lock.run(`${account_id} ${session_id}`, task);
  }

  /** Comments whose turn has ended become answered; those of a prompt that never arrived become open again. */
  async function settle(key: ReviewKey, rows: readonly CommentRow[], caller: Caller): Promise<boolean> {
    const sent = new Set(
      rows.flatMap(({ state, send_key }) => (state === "sent" && send_key !== null ? [send_key] : [])),
    );
    let changed = false;
    for (const sendKey of sent) {
      if (underWay.has(sendKey)) continue;
      const fate = await ports.fateOf({ sessionId: key.session_id, key: sendKey }, caller);
      if (fate === "running") continue;
      await store.settle(sendKey, fate === "ended" ? "answered" : "open", clock.now());
      changed = true;
    }
    return changed;
  }

  async function listed(sessionId: string, caller: Caller): Promise<ListedReview> {
    const key = await keyOf(sessionId, caller);
    const before = await store.list(key);
    const rows = (await settle(key, before, caller)) ? await store.list(key) : before;
    const texts = await textsOf(sessionId, rows, caller);
    const comments = rows
      .map((row) => {
        const text = texts.get(`${row.side} ${row.path}`) ?? null;
        const anchor = anchorIn(row);
        return shownComment(row, anchor, text === null ? null : findAnchor(anchor, text));
      })
      .toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
    return { key, rows, sessionId: key.session_id, comments };
  }

  /** The lines of all files with comments. If the changes can no longer be compared, all comments are outdated. */
  async function textsOf(sessionId: string, rows: readonly CommentRow[], caller: Caller) {
    const files = [...new Map(rows.map(({ path, side }) => [`${side} ${path}`, { path, side }])).values()];
    try {
      const texts = files.length === 0 ? [] : await ports.readFiles(sessionId, files, caller);
      return new Map(
        files.map(({ side, path }, at) => {
          const text = texts[at] ?? null;
          return [`${side} ${path}`, text === null ? null : linesOf(text)];
        }),
      );
    } catch (error) {
      if (goneCodes.some((code) => hasCode(error, code))) return new Map<string, null>();
      throw error;
    }
  }

  async function commentOf(sessionId: string, commentId: string, caller: Caller): Promise<ReviewComment> {
    const { comments } = await listed(sessionId, caller);
    const found = comments.find((comment) => comment.commentId === commentId);
    if (found === undefined) throw notFound(commentId, sessionId);
    return found;
  }

  /** One prompt with the requested comments. Comments that are not open are left out. */
  async function promptOf(
    { comments }: ListedReview,
    { sessionId, commentIds }: SendReviewInput,
    caller: Caller,
  ): Promise<ReviewPrompt> {
    const unknown = commentIds?.find((id) => !comments.some(({ commentId }) => commentId === id));
    if (unknown !== undefined) throw notFound(unknown, sessionId);
    const open = comments.filter(
      ({ commentId, state }) => state === "open" && (commentIds === undefined || commentIds.includes(commentId)),
    );
    const parts = open.map(({ snippet, ...comment }) => ({ ...comment, lines: snippet.lines }));
    const plain = reviewPrompt(parts);
    const isHostile = plain.prompt.includes("@") && (await ports.mentionsOutside(sessionId, plain.prompt, caller));
    const { prompt, count } = isHostile ? reviewPrompt(withoutMentions(parts)) : plain;
    return {
      sessionId,
      prompt,
      commentIds: open.slice(0, count).map(({ commentId }) => commentId),
      left: open.length - count,
    };
  }

  return {
    async list(sessionId, caller) {
      const { comments, sessionId: id } = await listed(sessionId, caller);
      return { sessionId: id, comments };
    },

    async add(input, caller) {
      const { path, side, line, endLine = line, body, snippet, authorSessionId } = input;
      if (endLine < line || endLine - line >= maxCommentedLines) {
        throw reviewError(
          "invalid_request",
          `A comment is about 1 to ${maxCommentedLines} lines, from "line" to "endLine".`,
        );
      }
      const key = await keyOf(input.sessionId, caller);
      const author = authorSessionId === undefined ? null : await ports.find(authorSessionId, caller);
      const [text = null] = await ports.readFiles(input.sessionId, [{ path, side }], caller);
      const anchor = text === null ? null : anchorOf(linesOf(text), { line, endLine });
      const seen = snippet === undefined ? null : snippet.split("\n").map((part) => part.replace(/\r$/, ""));
      if (anchor === null || (seen !== null && seen.join("\n") !== anchor.lines.join("\n"))) {
        throw reviewError(
          "comment_text_changed",
          `${path} does not have these lines${text === null ? ", or is not a text file" : ""}. Read the changes again.`,
        );
      }
      if (anchor.lines.join("\n").length > maxSnippetLength) {
        throw reviewError("too_large", `Lines ${line}-${endLine} of ${path} are too long to comment on.`);
      }
      const now = clock.now();
      const row: CommentRow = {
        ...key,
        comment_id: newUuid(),
        author_kind: authorKind(caller),
        author_session_id: author?.sessionId ?? null,
        path,
        side,
        anchor: JSON.stringify(anchor),
        body,
        state: "open",
        send_key: null,
        created_at: now,
        updated_at: now,
      };
      await holding(key, async () => {
        if ((await store.list(key)).length >= maxComments) {
          throw reviewError("too_large", `The session has ${maxComments} comments. Delete some first.`);
        }
        await store.add(row);
      });
      return shownComment(row, anchor, { line, endLine });
    },

    async edit({ sessionId, commentId, body, state }, caller) {
      if (body === undefined && state === undefined) {
        throw reviewError("invalid_request", 'Nothing to change. Set "body" or "state".');
      }
      const key = await keyOf(sessionId, caller);
      await commentOf(sessionId, commentId, caller);
      const reopened = state === "open" ? ({ state, send_key: null } as const) : state === undefined ? {} : { state };
      // The text of a sent comment stays as the agent received it, unless the comment is reopened.
      const states = body === undefined || state === "open" ? allStates : (["open", "resolved"] as const);
      const change = { ...reopened, ...(body !== undefined && { body }), updated_at: clock.now() };
      if (!(await store.change({ key, commentId, while: states }, change))) {
        throw reviewError(
          "comment_already_sent",
          `Comment ${commentId} was sent to the agent. To change its text, reopen it: set "state" to "open".`,
        );
      }
      return commentOf(sessionId, commentId, caller);
    },

    async remove({ sessionId, commentId }, caller) {
      const key = await keyOf(sessionId, caller);
      const deleted = await commentOf(sessionId, commentId, caller);
      if (!(await store.remove(key, commentId))) throw notFound(commentId, sessionId);
      return { sessionId: key.session_id, deleted };
    },

    preview: async (input, caller) => promptOf(await listed(input.sessionId, caller), input, caller),

    async send(input, caller) {
      const { sessionId, onDraft } = input;
      const sendKey = `review ${newUuid()}`;
      underWay.add(sendKey);
      try {
        const key = await keyOf(sessionId, caller);
        const made = await holding(key, async () => {
          const prompt = await promptOf(await listed(sessionId, caller), input, caller);
          if (prompt.commentIds.length === 0) {
            throw reviewError("nothing_to_send", `Session ${sessionId} has no open comments to send.`);
          }
          const claim = { commentIds: prompt.commentIds, sendKey, at: clock.now() };
          const claimed = await store.claim(key, claim);
          if (claimed.length === prompt.commentIds.length) return prompt;
          await store.settle(sendKey, "open", clock.now()); // one was deleted or resolved just now
          throw reviewError("nothing_to_send", `The comments of session ${sessionId} have just changed. Send again.`);
        });
        const asked = { sessionId, text: made.prompt, key: sendKey, onDraft };
        const { deliveryState } = await ports.ask(asked, caller).catch(async (error: unknown) => {
          await store.settle(sendKey, "open", clock.now());
          throw error;
        });
        return { ...made, sessionId: (await keyOf(sessionId, caller)).session_id, deliveryState };
      } finally {
        underWay.delete(sendKey);
      }
    },

    async viewed(sessionId, caller) {
      const key = await keyOf(sessionId, caller);
      return { sessionId: key.session_id, files: await store.viewed(key) };
    },

    async view({ sessionId, path, version }, caller) {
      const key = await keyOf(sessionId, caller);
      await store.view(key, { path, version }, clock.now());
      return { sessionId: key.session_id, files: await store.viewed(key) };
    },
  };
}

const allStates = ["open", "sent", "answered", "resolved"] as const;
const goneCodes = ["not_a_git_repository", "branch_not_found", "dir_not_found", "worktree_failed"] as const;

function authorKind({ kind }: Caller): CommentRow["author_kind"] {
  if (kind === "app") return "app";
  return kind === "token" || kind === "jwt" ? "token" : "person";
}
