import type { PendingPermission } from "../wire/coding.ts";

/** Phones and desktops show at least this much of a notification's text. */
const maxCharacters = 120;
const maxToolCharacters = 40;
/** Repeated blanks, which could move the rest of a text out of sight. */
const blanks = /^ | $| {8}/;
/**
 * Printable ASCII and the accented letters of Latin-1 and Latin Extended-A. Everything else can hide text, reorder it, break the line or look
 * like something else: control characters, invisible and blank code points, text direction, other scripts.
 */
const plain = /^[\u0020-\u007e\u00c0-\u017f]+$/u;

/** The text of a permission request. */
export interface PlainRequest {
  readonly tool: string;
  readonly text: string;
}

/**
 * The whole text of a permission request, if a person can see all of it in a notification; null otherwise. Only then can a notification
 * offer to allow it.
 */
export function plainRequest({ kind, tool, input, answerable }: PendingPermission): PlainRequest | null {
  if (kind !== "permission" || !answerable || !isPlain(tool, maxToolCharacters)) return null;
  const text = textOf(input);
  return text !== null && isPlain(text, maxCharacters) ? { tool, text } : null;
}

function isPlain(text: string, max: number): boolean {
  return text.length <= max && plain.test(text) && !blanks.test(text);
}

/** All fields of the input. Text that is not a single field is JSON, so that no text can look like a further field. */
function textOf(input: unknown): string | null {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const fields = Object.entries(input).filter(([, value]) => value !== undefined);
  if (fields.length === 0) return null;
  const only: unknown = fields[0]?.[1];
  if (fields.length === 1 && typeof only === "string") return only;
  if (!fields.every(([name]) => /^\w+$/.test(name))) return null;
  return fields.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ");
}
