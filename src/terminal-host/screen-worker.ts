import { closeSync, readSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { constants, getPriority, setPriority } from "node:os";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { messageOf } from "../core/errors.ts";
import { openRegularFileSync } from "../platform/regular-file.ts";
import { segmentName } from "./raw-log.ts";
import { createScreenModel, type ScreenModel } from "./screen-model.ts";
import type { FromScreens, ToScreens } from "./screens.ts";
import type { TerminalSize } from "./terminal-info.ts";

/** This much is parsed before another terminal has its turn. It takes about 1 ms, which is how long another program's query can be delayed. */
const BATCH_BYTES = 32 * 1024;

/** Niceness added to this thread, so that it has about a third of the CPU share of the threads that forward output and keys. */
const STEP_BACK = 5;

/**
 * For this long after a query, the thread sleeps between the batches of other terminals, because the system runs a sleeping thread at once
 * when the next query comes. Others are then parsed at about 10 MB/s.
 */
const ASKED_FOR_MS = 1_000;
const REST_MS = 2;

interface Screen {
  readonly terminalId: string;
  model: ScreenModel;
  readonly dir: string;
  readonly segmentBytes: number;
  /** Queries before this offset are not answered. */
  readonly answersFrom: number;
  /** Output up to this offset is on the screen. */
  at: number;
  /** The log contains output up to this offset. */
  end: number;
  segment: { readonly begin: number; readonly fd: number } | undefined;
  readonly resizes: Extract<ToScreens, { type: "resize" }>[];
  /** The number of the screen's size: see `size-history`. */
  sizes: number;
  readonly paints: { readonly offset: number; readonly requestId: number; readonly plain: boolean }[];
  announced: boolean;
  /** The screen takes precedence until it shows the output before this offset, which may contain a query. */
  asksUntil: number;
}

const screens = new Map<string, Screen>();
const batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
let scheduled = false;
let askedUntil = 0;

flushCompileCache(); // Node does not do this when it terminates a thread
post({ type: "ready" });
// On Linux this applies to the calling thread, elsewhere to the whole process.
if (process.platform === "linux") setPriority(Math.min(getPriority() + STEP_BACK, constants.priority.PRIORITY_LOW));

parentPort?.on("message", (message: ToScreens) => {
  if (message.type === "open") {
    open(message);
    return;
  }
  const screen = screens.get(message.terminalId);
  if (screen === undefined) return; // closed in the meantime
  switch (message.type) {
    case "output":
      screen.end = message.offset;
      screen.announced = false;
      if (message.asks) {
        screen.asksUntil = message.offset;
        askedUntil = performance.now() + ASKED_FOR_MS;
      }
      break;
    case "direct":
      writeDirectly(screen, message);
      break;
    case "resize":
      screen.end = Math.max(screen.end, message.offset);
      screen.resizes.push(message);
      break;
    case "paint":
      screen.paints.push(message);
      break;
    case "close":
      close(screen);
      return;
  }
  step(screen);
  schedule();
});

function open(message: Extract<ToScreens, { type: "open" }>): void {
  const { terminalId, fromOffset } = message;
  screens.set(terminalId, {
    terminalId,
    model: emptyModel(terminalId, message),
    dir: message.dir,
    segmentBytes: message.segmentBytes,
    answersFrom: message.answersFrom,
    at: fromOffset,
    end: fromOffset,
    segment: undefined,
    resizes: [],
    sizes: message.sizes,
    paints: [],
    announced: true,
    asksUntil: 0,
  });
}

function emptyModel(terminalId: string, size: TerminalSize): ScreenModel {
  return createScreenModel(size, (data) => {
    const screen = screens.get(terminalId);
    if (screen !== undefined && screen.at >= screen.answersFrom) post({ type: "answer", terminalId, data });
  });
}

function close(screen: Screen): void {
  screens.delete(screen.terminalId);
  closeSegment(screen);
  screen.model.close();
}

/** On a full disk, history is lost, but not the screen. */
function writeDirectly(screen: Screen, { offset, data }: Extract<ToScreens, { type: "direct" }>): void {
  closeSegment(screen);
  screen.at = offset;
  guard(screen, () => {
    applyResizes(screen);
    screen.model.write(data);
  });
  screen.at = offset + data.byteLength;
  screen.end = screen.at;
  screen.announced = false;
}

/** The output of one terminal must not end all screens: if a model fails, an empty one replaces it. */
function guard(screen: Screen, parse: () => void): void {
  try {
    parse();
  } catch (error) {
    const { cols, rows } = screen.model.size();
    screen.model = emptyModel(screen.terminalId, { cols, rows });
    screen.at = screen.end;
    screen.announced = false;
    post({ type: "failed", terminalId: screen.terminalId, error: messageOf(error) });
  }
}

function step(screen: Screen): void {
  guard(screen, () => parseBatch(screen));
  if (screen.at === screen.end && !screen.announced) {
    screen.announced = true;
    post({ type: "reached", terminalId: screen.terminalId, offset: screen.at });
  }
}

function parseBatch(screen: Screen): void {
  applyResizes(screen);
  const stop = nextStop(screen);
  if (screen.at < stop) {
    const bytes = readLog(screen, Math.min(stop - screen.at, BATCH_BYTES));
    screen.model.write(batch.subarray(0, bytes));
    screen.at += bytes;
    applyResizes(screen);
  }
  paintDue(screen);
}

/** The offset at which a batch must end, because something other than output takes effect there. */
function nextStop({ at, end, resizes, answersFrom }: Screen): number {
  const stop = resizes[0]?.offset ?? end;
  return at < answersFrom ? Math.min(stop, answersFrom) : stop;
}

function applyResizes(screen: Screen): void {
  for (let next = screen.resizes[0]; next !== undefined && next.offset <= screen.at; next = screen.resizes[0]) {
    screen.model.resize(next);
    screen.sizes = next.sizes;
    screen.resizes.shift();
  }
}

function paintDue(screen: Screen): void {
  for (const due of screen.paints.filter(({ offset }) => offset <= screen.at)) {
    screen.paints.splice(screen.paints.indexOf(due), 1);
    const { requestId, plain } = due;
    // After a painted screen, output must continue at the start of an incomplete sequence; a plain screen reports what was parsed.
    const offset = plain ? screen.at : screen.at - screen.model.incompleteBytes();
    post({ type: "painted", requestId, offset, sizes: screen.sizes, screen: screen.model.paint({ plain }) });
  }
}

/** Reads within one segment. The host never drops a segment that the screen has not read. */
function readLog(screen: Screen, wanted: number): number {
  const begin = screen.at - (screen.at % screen.segmentBytes);
  if (screen.segment?.begin !== begin) {
    closeSegment(screen);
    const fd = openRegularFileSync(join(screen.dir, segmentName(begin)));
    if (fd === null) throw new Error(`The raw log of ${screen.terminalId} has no segment at ${begin}.`);
    screen.segment = { begin, fd };
  }
  const bytes = readSync(screen.segment.fd, batch, 0, wanted, screen.at - begin);
  if (bytes === 0) throw new Error(`The raw log of ${screen.terminalId} ends before ${screen.end}.`);
  return bytes;
}

function closeSegment(screen: Screen): void {
  if (screen.segment !== undefined) closeSync(screen.segment.fd);
  screen.segment = undefined;
}

/** Continues with screens that are behind, after handling new messages. */
function schedule(): void {
  if (scheduled || ![...screens.values()].some(isBehind)) return;
  scheduled = true;
  const hurries = [...screens.values()].some(isAsked) || performance.now() >= askedUntil;
  const parse = (): void => {
    scheduled = false;
    const behind = [...screens.values()].filter(isBehind);
    for (const screen of behind.filter(isAsked)) step(screen);
    const next = behind.find(isBehind);
    if (next !== undefined) {
      step(next);
      screens.delete(next.terminalId); // moves the screen to the end
      screens.set(next.terminalId, next);
    }
    schedule();
  };
  if (hurries) setImmediate(parse);
  else setTimeout(parse, REST_MS);
}

function isAsked({ at, asksUntil }: Screen): boolean {
  return at < asksUntil;
}

function isBehind({ at, end }: Screen): boolean {
  return at < end;
}

function post(message: FromScreens): void {
  parentPort?.postMessage(message);
}
