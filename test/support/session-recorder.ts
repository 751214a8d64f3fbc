import { subscribe } from "node:diagnostics_channel";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../src/core/ids.ts";
import { messages, type SeenMessage } from "../../src/sessions/session-actor.ts";
import type { SessionLook, SessionMessage, SessionState } from "../../src/sessions/session-state.ts";

/** A session as its callers see it. */
export interface Shown {
  readonly activity: string;
  readonly asks: readonly string[];
  readonly prompts: readonly string[];
}

/** A message, or a look at an unchanged screen. */
type RecordedMessage =
  | SessionMessage
  | { readonly kind: "looked"; readonly look: Omit<SessionLook, "screen"> & { readonly screen: "same" } };

/** One session of a real agent, as its messages. */
export interface RecordedSession {
  readonly title: string;
  readonly agent: string;
  readonly began: number;
  /** Milliseconds since the session began, and the message; `screen: "same"` is the previous look's screen. */
  readonly messages: readonly (readonly [number, RecordedMessage])[];
  /** What callers saw after each message that changed it. */
  readonly shown: readonly (readonly [number, Shown])[];
}

/** The part of this state that a caller sees. */
export function shownBy({ activity, prompts }: SessionState): Shown {
  return {
    activity: activity.activity,
    asks: activity.permissions.map(({ kind }) => kind),
    prompts: [...prompts.progress.values()].map(({ state, turnOver }) => `${state}${turnOver ? ", turn over" : ""}`),
  };
}

const seen = new Map<string, SeenMessage[]>();

/** Where situations are recorded: `POSTERN_RECORD_SITUATIONS`, a folder. */
const folder = process.env["POSTERN_RECORD_SITUATIONS"];

if (folder !== undefined) {
  subscribe(messages.name, (message) => {
    if (!isSeenMessage(message)) return;
    seen.set(message.terminalId, [...(seen.get(message.terminalId) ?? []), message]);
  });
}

function isSeenMessage(message: unknown): message is SeenMessage {
  return typeof message === "object" && message !== null && "terminalId" in message;
}

/** Writes down what moved the sessions of these terminals, when situations are recorded. @param root of the world, which is left out */
export async function recordSituation(
  terminalIds: readonly string[],
  { title, agent, root }: { readonly title: string; readonly agent: string; readonly root: string },
): Promise<void> {
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  for (const terminalId of terminalIds) {
    const recorded = JSON.stringify(recordingOf(seen.get(terminalId) ?? [], { title, agent }));
    await appendFile(join(folder, `${agent}.jsonl`), `${recorded.replaceAll(root, "/world")}\n`);
  }
}

function recordingOf(
  all: readonly SeenMessage[],
  of: { readonly title: string; readonly agent: string },
): RecordedSession {
  const began = all[0]?.at ?? 0;
  const recorded: [number, RecordedMessage][] = [];
  const shown: [number, Shown][] = [];
  let screen = "";
  let summary = "";
  for (const { at, message, state } of all) {
    if (message === null) continue;
    if (message.kind === "transcript_bound") summary = "";
    if (message.kind === "transcript_read") {
      const read = JSON.stringify(message.summary);
      if (read === summary) continue;
      summary = read;
    }
    let kept: RecordedMessage = message;
    if (message.kind === "looked") {
      const { look } = message;
      const now = JSON.stringify(look.screen);
      const isSame = now === screen && look.screen !== null;
      kept = isSame
        ? { ...message, look: { ...look, screen: "same" } }
        : { ...message, look: { ...look, screen: look.screen && shortened(look.screen) } };
      screen = now;
    }
    recorded.push([at - began, kept]);
    const after = shownBy(state);
    if (JSON.stringify(after) !== JSON.stringify(shown.at(-1)?.[1])) shown.push([recorded.length - 1, after]);
  }
  return { ...of, began, messages: recorded, shown };
}

/** Texts count only by whether they are the same, and by their end. */
function shortened(screen: NonNullable<SessionLook["screen"]>): SessionLook["screen"] {
  const { text } = screen;
  if (text.length < 200) return screen;
  return { ...screen, text: `${text.slice(0, 60)} [${sha256(text).slice(0, 8)}] ${text.slice(-60)}` };
}

/** The messages of a recording in full, with their times. */
export function* replayed({
  began,
  messages: recorded,
}: RecordedSession): Generator<{ at: number; message: SessionMessage }> {
  let screen: SessionLook["screen"] = null;
  for (const [after, message] of recorded) {
    const at = began + after;
    if (message.kind !== "looked") yield { at, message };
    else {
      const { look } = message;
      if (look.screen !== "same") ({ screen } = look);
      yield { at, message: { kind: "looked", look: { ...look, screen } } };
    }
  }
}
