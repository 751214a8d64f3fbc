import type { Clock } from "../core/clock.ts";
import { isoTime } from "../core/clock.ts";
import type { Caller } from "../wire/caller.ts";
import {
  type EditSessionInput,
  type EditSessionOutput,
  maxLabelLength,
  maxLabels,
  type Seen,
} from "../wire/session-notes.ts";
import { sessionError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";
import type { EventPublisher } from "./ports.ts";
import type { NoteChanges, NoteStore } from "./session-notes.ts";

interface EditDeps {
  readonly locator: SessionLocator;
  readonly notes: NoteStore;
  readonly publisher: Pick<EventPublisher, "publish">;
  readonly clock: Clock;
}

/** `coding_edit_session`: a session's title, pin, archive and labels. Also works for sessions that Postern never ran. */
export function createEdit(deps: EditDeps): (input: EditSessionInput, caller: Caller) => Promise<EditSessionOutput> {
  const { locator, notes, publisher, clock } = deps;
  return async ({ sessionId, ...edits }, caller) => {
    const changes = changesOf(edits);
    // Holds the session's lock, so that the change is not lost if the agent reports a new ID at the same time.
    const record = await locator.withSession(sessionId, caller, async (session) => {
      const changed = await notes.change(session.record, changes, clock.now());
      return { ...session.record, changed };
    });
    const summary = await locator.summaryOf(await locator.locate(record.sessionId, caller));
    if (record.changed) {
      const { agent, dir } = record;
      const { pinned, archived } = summary;
      const head = { at: isoTime(clock.now()), sessionId: summary.sessionId, agent, dir };
      publisher.publish({ events: [{ kind: "session.edited", ...head, pinned, archived }], memos: new Map() });
    }
    return summary;
  };
}

/** `POST …/seen`: the caller's account has seen the session as it is now. */
export function createSee(
  deps: Pick<EditDeps, "locator" | "notes">,
): (sessionId: string, caller: Caller) => Promise<Seen> {
  return async (sessionId, caller) => {
    const session = await deps.locator.locate(sessionId, caller);
    const { updatedAt, unread, ...summary } = await deps.locator.summaryOf(session);
    if (unread)
      await deps.notes.see(
        { agent: summary.agent, sessionId: summary.sessionId },
        caller.accountId,
        Date.parse(updatedAt),
      );
    return { sessionId: summary.sessionId, unread: false, seenAt: updatedAt };
  };
}

/** @throws PosternError `invalid_request` */
function changesOf(edits: Omit<EditSessionInput, "sessionId">): NoteChanges {
  if (Object.values(edits).every((value) => value === undefined)) {
    throw sessionError("invalid_request", "Nothing to change: give a title, pinned, archived or labels.");
  }
  const { title, pinned, archived, labels, addLabels = [], removeLabels = [] } = edits;
  return {
    title: title === undefined || title === null ? title : titleFrom(title),
    pinned,
    archived,
    labels: labels?.map(labelFrom),
    addLabels: addLabels.map(labelFrom),
    removeLabels: removeLabels.map(labelFrom),
  };
}

function titleFrom(text: string): string {
  const title = inOneLine(text);
  if (title === "") throw sessionError("invalid_request", "The title is empty. Use null to restore the agent's title.");
  return title;
}

/** Normalizes labels for storage and comparison. @throws PosternError `invalid_request` */
export function labelFrom(text: string): string {
  const label = inOneLine(text).toLowerCase();
  const length = Array.from(label).length;
  if (length > 0 && length <= maxLabelLength) return label;
  throw sessionError(
    "invalid_request",
    length === 0
      ? `The label ${JSON.stringify(text)} contains no visible character.`
      : `The label "${label}" has ${length} characters; the maximum is ${maxLabelLength}, with at most ${maxLabels} labels in a session.`,
  );
}

/** Without control and other invisible characters, which could forge a line or reverse its direction. */
function inOneLine(text: string): string {
  return text
    .normalize("NFC")
    .toWellFormed()
    .replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}
