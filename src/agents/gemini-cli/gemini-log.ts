import { closeSync, fstatSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { isUuid } from "../../core/ids.ts";
import { openRegularFileSync } from "../../platform/regular-file.ts";
import { parseLine, stringAt, timeOf } from "../../transcripts/index.ts";
import { readGeminiUser } from "./gemini-lines.ts";

/**
 * Gemini CLI logs typed prompts in `tmp/<project>/logs.json` under the id that its process started with, even after a switch of session
 * (measured). A prompt under one id in the log and in another session's transcript shows that the process changed its session.
 */
export const typedLog = "logs.json";

/** A process's current session; `soon` while its files are incomplete; null if unknown. */
type Moved = { readonly sessionId: string } | "soon" | null;

// Enough of the log for the newest prompts; a longer prompt is not recognized.
const tailBytes = 64 * 1024;
// How much of each transcript is read: a prompt is followed by an answer, which can be long.
const transcriptTailBytes = 512 * 1024;
const headBytes = 4_096;
// Each process has written to only one of the recent files.
const maxRecentFiles = 20;
/** The longest time between a log entry and its effect, on a loaded machine. */
const withinMs = 10_000;

const entrySchema = z.looseObject({ sessionId: z.string(), message: z.string(), timestamp: z.string() });

/** A process as identified in the log. */
export interface LoggedProcess {
  /** The id that it started with. */
  readonly firstId: string;
  /** Epoch milliseconds: an earlier process may have started with the same id. */
  readonly startedAt: number;
}

/**
 * A process's current session, from the last prompt or `/clear` typed into it.
 * @param project the folder of logs.json
 */
export function movedTo(project: string, { firstId, startedAt }: LoggedProcess, now: number): Moved {
  const entries = typedEntries(project);
  if (entries === "unreadable") return "soon";
  const typed = entries.findLast(
    ({ sessionId, message, timestamp }) =>
      sessionId.toLowerCase() === firstId &&
      Date.parse(timestamp) >= startedAt &&
      (isClear(message) || !isCommand(message)),
  );
  if (typed === undefined) return null;
  const at = Date.parse(typed.timestamp);
  const id = isClear(typed.message) ? begunBy(project, at) : saidIn(project, { text: typed.message, at });
  if (id !== null) return { sessionId: id };
  return now - at < withinMs ? "soon" : null;
}

function isClear(message: string): boolean {
  return /^\/(?:clear|new)\s*$/.test(message);
}

function isCommand(message: string): boolean {
  return /^[/!?]/.test(message.trim());
}

/** The session that started right after this time, if there is exactly one. */
function begunBy(project: string, at: number): string | null {
  return onlyOne(sessionsBegun(project, { from: at, to: at + withinMs }));
}

/** The sessions of a project that started within this period, in epoch milliseconds. */
export function sessionsBegun(
  project: string,
  { from, to }: { readonly from: number; readonly to: number },
): ReadonlySet<string> {
  const begun = recentTranscripts(project, from).flatMap((path) => {
    const head = headOf(path);
    return head !== null && head.startedAt >= from && head.startedAt <= to ? [head.sessionId] : [];
  });
  return new Set(begun);
}

/** The session whose transcript has this prompt at this time; null unless there is exactly one. */
function saidIn(project: string, prompt: { readonly text: string; readonly at: number }): string | null {
  const said = recentTranscripts(project, prompt.at).filter((path) =>
    tailLines(path, transcriptTailBytes)?.some((line) => says(line, prompt)),
  );
  return onlyOne(new Set(said.map((path) => headOf(path)?.sessionId ?? null)));
}

function onlyOne<T>(values: ReadonlySet<T>): T | null {
  const [only] = values;
  return values.size === 1 && only !== undefined ? only : null;
}

function says(bytes: string, { text, at }: { readonly text: string; readonly at: number }): boolean {
  if (!bytes.includes('"user"')) return false;
  const line = parseLine(Buffer.from(bytes));
  if (line === null || stringAt(line, "type") !== "user") return false;
  const said = readGeminiUser(line);
  const saidAt = Date.parse(timeOf(line) ?? "");
  return said.kind === "prompt" && said.text.trim() === text.trim() && Math.abs(saidAt - at) < withinMs;
}

/** Transcripts written since then, newest first. */
function recentTranscripts(project: string, since: number): readonly string[] {
  const chats = join(project, "chats");
  const found = namesIn(chats).flatMap((name) => {
    if (!/^session-.+\.jsonl$/.test(name)) return [];
    const modifiedAt = statSync(join(chats, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return modifiedAt >= since ? [{ path: join(chats, name), modifiedAt }] : [];
  });
  return found
    .toSorted((one, other) => other.modifiedAt - one.modifiedAt)
    .slice(0, maxRecentFiles)
    .map(({ path }) => path);
}

function headOf(path: string): { readonly sessionId: string; readonly startedAt: number } | null {
  const begin = textOf(path, (size) => ({ at: 0, length: Math.min(size, headBytes) }));
  const [head = ""] = begin?.split("\n", 1) ?? [];
  const line = parseLine(Buffer.from(head));
  const sessionId = line === null ? null : stringAt(line, "sessionId");
  if (line === null || sessionId === null || !isUuid(sessionId)) return null;
  return { sessionId: sessionId.toLowerCase(), startedAt: Date.parse(stringAt(line, "startTime") ?? "") };
}

/** The ids under which prompts were typed since then. */
export function typedSince(project: string, from: number): ReadonlySet<string> {
  const entries = typedEntries(project);
  if (entries === "unreadable") return new Set();
  const later = entries.filter(({ timestamp }) => Date.parse(timestamp) >= from);
  return new Set(later.map(({ sessionId }) => sessionId.toLowerCase()));
}

type TypedEntry = z.infer<typeof entrySchema>;

/** The newest entries of the log: a list of objects, with braces on their own lines, rewritten for each prompt. */
function typedEntries(project: string): readonly TypedEntry[] | "unreadable" {
  const lines = tailLines(join(project, typedLog), tailBytes);
  if (lines === null) return [];
  const text = lines.join("\n");
  try {
    return z.array(entrySchema).safeParse(JSON.parse(`[${text.slice(text.indexOf("  {\n"))}`)).data ?? [];
  } catch {
    return "unreadable"; // half written
  }
}

/** Complete lines from the end of a file; null if there is no file. */
function tailLines(path: string, bytes: number): readonly string[] | null {
  let cut = false;
  const text = textOf(path, (size) => {
    cut = size > bytes;
    return { at: Math.max(0, size - bytes), length: Math.min(size, bytes) };
  });
  if (text === null) return null;
  const lines = text.split("\n");
  return cut ? lines.slice(1) : lines;
}

function textOf(
  path: string,
  partOf: (size: number) => { readonly at: number; readonly length: number },
): string | null {
  const file = openRegularFileSync(path);
  if (file === null) return null;
  try {
    const { at, length } = partOf(fstatSync(file).size);
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, at)).toString("utf8");
  } catch (error) {
    if (isErrno(error, "EIO")) return null;
    throw error;
  } finally {
    closeSync(file);
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return [];
    throw error;
  }
}
