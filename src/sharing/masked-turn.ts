import { stripVTControlCharacters } from "node:util";
import type { Block, Turn } from "../wire/turn.ts";
import type { Masking } from "./ports.ts";

/** Control characters except tab and line feed. */
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text without escape sequences, control characters and secrets. Escape sequences are removed first, because they could split a secret. */
export function cleanText(text: string, { maskSecrets }: Masking): string {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  return maskSecrets(stripVTControlCharacters(lines).toWellFormed().replace(control, " "));
}

/** Masks secrets in a turn: in its text, in the input of tools (including names of files and members) and in their results. */
export function maskTurn(turn: Turn, masking: Masking): Turn {
  return {
    ...turn,
    text: cleanText(turn.text, masking),
    blocks: turn.blocks.map((block) => maskBlock(block, masking)),
    model: turn.model === null ? null : cleanText(turn.model, masking),
    ...(turn.attachments === undefined
      ? {}
      : { attachments: turn.attachments.map((file) => ({ ...file, name: cleanText(file.name, masking) })) }),
  };
}

function maskBlock(block: Block, masking: Masking): Block {
  if (block.type !== "tool_call") return { ...block, text: cleanText(block.text, masking) };
  const { result } = block;
  return {
    ...block,
    id: cleanText(block.id, masking),
    name: cleanText(block.name, masking),
    input: maskInput(block.input, masking),
    result: result === null ? null : { ...result, text: cleanText(result.text, masking) },
  };
}

/** Transcript readers limit depth and size of inputs. */
function maskInput(value: unknown, masking: Masking): unknown {
  if (typeof value === "string") return cleanText(value, masking);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((member) => maskInput(member, masking));
  const members = Object.entries(value).map(([name, member]) => [
    cleanText(name, masking),
    masking.namesSecret(name) ? masking.mask : maskInput(member, masking),
  ]);
  return Object.fromEntries(members);
}

/** The essential input of a tool call: its command, file, pattern or address, in one line. Null if its input has none of these. */
export function purposeOf(input: unknown): string | null {
  if (typeof input === "string") return oneLine(input);
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const members = new Map<string, unknown>(Object.entries(input));
  for (const name of purposeMembers) {
    const value = members.get(name);
    if (typeof value === "string" && value.trim() !== "") return oneLine(value);
    if (Array.isArray(value) && value.every((part) => typeof part === "string")) return oneLine(value.join(" "));
  }
  return null;
}

const purposeMembers = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description"];
/** About one line on a wide screen. */
const maxPurposeCharacters = 160;

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= maxPurposeCharacters ? line : `${line.slice(0, maxPurposeCharacters - 1).toWellFormed()}…`;
}

/** A tool's input as it is shown: its text, or indented JSON. */
export function inputText(input: unknown): string {
  return typeof input === "string" ? input : (JSON.stringify(input, null, 2) ?? "");
}
