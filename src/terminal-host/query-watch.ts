/** Notices when a program asks its terminal something and may be waiting for the answer. */
export interface QueryWatch {
  /** Takes the next output. Returns whether a query is complete in its last part. */
  push(data: Buffer): boolean;
}

/** A program that waits for an answer writes nothing more: its query is the last of what was read. In a flood only this much is looked at. */
const LOOKED_AT_BYTES = 4 * 1024;
/** Longer than any query. */
const CARRIED_CHARACTERS = 64;

/**
 * Device attributes, status and cursor, version, modes, keyboard, window size; colours and other strings with a question mark; settings.
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */
const QUERY =
  /\x1b(?:\[(?:[?>=]?[\d;]*c|\??[\d;]+n|>[\d;]*q|\??[\d;]*\$p|\d[\d;]*t|\?u)|\][^\x07\x1b]{0,4000}\?[^\x07\x1b]{0,4000}(?:\x07|\x1b\\)|P\$q[^\x1b]{0,60}\x1b\\)/;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]P][^\x07\x1b]*\x1b?)?$/;

/**
 * Watches the output of one program. It answers nothing: what it misses (a query in the middle of a flood, or in an unusual form) the screen
 * model answers as well, only later.
 */
export function watchQueries(): QueryWatch {
  let carried = "";
  return {
    push(data) {
      const text = carried + data.toString("latin1", Math.max(0, data.byteLength - LOOKED_AT_BYTES));
      const unfinished = text.slice(-CARRIED_CHARACTERS);
      carried = UNFINISHED.exec(unfinished)?.[0] ?? "";
      return QUERY.test(text);
    },
  };
}
