import { createTerminalFilter } from "../core/terminal-filter.ts";
import type { TerminalRecording } from "../terminal-host/terminal-info.ts";

/** The part of a terminal's recording that belongs to a session. Times are milliseconds since the epoch. */
export interface CastPart {
  readonly recording: TerminalRecording;
  readonly beginsAt: number;
  readonly endsAt: number;
  /** Whether this part is the terminal's last: no other session was shown after it. */
  readonly isLast: boolean;
}

/** To start in the middle of output, the filter begins to read this long before it, to find the sequence in which that moment falls. */
const lookBackMs = 500;
/** This many characters are yielded together, so that many small lines take fewer steps. */
const pageLength = 32 * 1024;

/**
 * The parts in order as an asciicast: head, then output and sizes, with the seconds since `zeroAt`. It begins with the screen at `fromAt`,
 * unless `fromAt` is the beginning of the recording.
 * @see https://docs.asciinema.org/manual/asciicast/v2/
 */
export async function* castLines(
  parts: readonly CastPart[],
  { zeroAt, fromAt, signal }: { readonly zeroAt: number; readonly fromAt: number; readonly signal: AbortSignal },
): AsyncGenerator<string, void> {
  const first = Math.max(
    0,
    parts.findIndex(({ endsAt }) => endsAt > fromAt),
  );
  const wanted = parts.some(({ endsAt }) => endsAt > fromAt) ? parts.slice(first) : parts.slice(-1);
  let lastS = 0;
  let page = "";
  let isHead = true;
  for (const part of wanted) {
    const beginsAt = Math.min(Math.max(part.beginsAt, fromAt), part.endsAt);
    for await (const event of eventsOf(part, { beginsAt, signal })) {
      lastS = Math.max(lastS, Math.round(event.at - zeroAt) / 1_000);
      if (isHead) {
        if (!("cols" in event)) continue;
        page += headLine(event, zeroAt);
        isHead = false;
      } else if ("cols" in event) page += line(lastS, "r", `${event.cols}x${event.rows}`);
      else page += line(lastS, "o", event.text);
      if (page.length < pageLength) continue;
      yield page;
      page = "";
    }
  }
  if (page !== "") yield page;
}

type CastEvent =
  | { readonly at: number; readonly text: string }
  | { readonly at: number; readonly cols: number; readonly rows: number };

/** From `beginsAt` on: the size, then a reset terminal with the screen of that moment, then output through the filter. */
async function* eventsOf(
  { recording, endsAt, isLast }: CastPart,
  { beginsAt, signal }: { readonly beginsAt: number; readonly signal: AbortSignal },
): AsyncGenerator<CastEvent, void> {
  const filter = createTerminalFilter();
  const inMiddle = beginsAt > recording.beginsAt;
  if (inMiddle) {
    const { cols, rows, ansi } = await recording.screenAt(beginsAt, { signal });
    yield { at: beginsAt, cols, rows };
    yield { at: beginsAt, text: `\x1bc${filter.write(ansi)}` };
    filter.reset();
    for await (const event of recording.events({ from: beginsAt - lookBackMs })) {
      if (event.at >= beginsAt) break;
      if ("data" in event) filter.write(event.data);
    }
  }
  let shown = inMiddle;
  for await (const event of recording.events({ from: beginsAt })) {
    if (!isLast && event.at >= endsAt) return; // the rest is another session's
    if ("cols" in event) {
      yield event;
      if (!shown) yield { at: event.at, text: "\x1bc" };
      shown = true;
      continue;
    }
    const text = filter.write(event.data);
    if (text !== "") yield { at: event.at, text };
  }
}

function headLine({ cols, rows }: { readonly cols: number; readonly rows: number }, zeroAt: number): string {
  const head = { version: 2, width: cols, height: rows, timestamp: Math.floor(zeroAt / 1_000) };
  return `${JSON.stringify({ ...head, env: { TERM: "xterm-256color" } })}\n`;
}

function line(atS: number, code: "o" | "r", data: string): string {
  return `${JSON.stringify([atS, code, data])}\n`;
}
