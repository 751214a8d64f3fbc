import { stripVTControlCharacters } from "node:util";

/** All but tab and line feed; PostgreSQL takes no NUL. */
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text that every store holds and every terminal shows: well-formed, without escape sequences and control characters. */
export function plainText(text: string): string {
  const lines = text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
  const plain = lines.includes("\u001b") || lines.includes("\u009b") ? stripVTControlCharacters(lines) : lines;
  return plain.toWellFormed().replace(control, " ");
}

/** The first `limit` characters, never half of a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}
