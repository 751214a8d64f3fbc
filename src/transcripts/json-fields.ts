import { isUtf8 } from "node:buffer";

/** A parsed JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object under `key`, or an empty one. */
export function fieldsAt(from: Fields, key: string): Fields {
  const value = from[key];
  return isFields(value) ? value : {};
}

/** The string under `key`, or null. */
export function stringAt(from: Fields, key: string): string | null {
  const value = from[key];
  return typeof value === "string" ? value : null;
}

/** The path under `key`, or null; paths contain no NUL. */
export function pathAt(from: Fields, key: string): string | null {
  const path = stringAt(from, key);
  return path === null || path.includes("\0") ? null : path;
}

/** The usual form; anything else is parsed. */
const usualTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** The time under `timestamp`, ISO 8601 in UTC, or null. */
export function timeOf(line: Fields): string | null {
  const text = stringAt(line, "timestamp");
  if (text === null || text.length > 40) return null;
  if (usualTime.test(text)) return text;
  const epochMs = Date.parse(text);
  if (Number.isNaN(epochMs)) return null;
  return text.endsWith("Z") ? text : new Date(epochMs).toISOString();
}

// The last second of a Date.
const lastSecond = 8_640_000_000_000;

/** Epoch seconds as ISO 8601; null if out of range. */
export function isoSeconds(seconds: number | undefined): string | null {
  return seconds !== undefined && seconds > 0 && seconds <= lastSecond ? new Date(seconds * 1000).toISOString() : null;
}

/** The number under `key` as a safe non-negative integer; 0 for anything else. */
export function countAt(from: Fields, key: string): number {
  const value = from[key];
  return typeof value === "number" && Number.isFinite(value) && value > 0
    ? Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER)
    : 0;
}

/** The objects in the array under `key`. */
export function listAt(from: Fields, key: string): readonly Fields[] {
  const value = from[key];
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** A line as an object; null if it is not UTF-8, not JSON or not an object. */
export function parseLine(line: Buffer): Fields | null {
  if (!isUtf8(line)) return null;
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return isFields(value) ? value : null;
  } catch {
    return null; // the caller counts the line as skipped
  }
}
