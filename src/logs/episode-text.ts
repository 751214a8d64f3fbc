import { cut } from "./plain-text.ts";
import type { LogBody } from "./rules.ts";

/** A piece of an episode's text: a page, so that what is shown of it is quickly found in it. */
const chunkCharacters = 4_000;
/** A cut moves back so far to fall between words. */
const nudgeCharacters = 200;
/** So much of an episode can be found. */
export const maxEpisodeCharacters = 250_000;
/** Of a tool's input: a command, a path. */
const maxCallCharacters = 400;

/** What was said and done, as text: what searches look in, and what a model is shown. */
export function episodeText(body: LogBody): string {
  if (body.form === "text") return cut(body.text, maxEpisodeCharacters);
  const lines: string[] = [];
  let characters = 0;
  for (const { blocks } of body.turns) {
    for (const block of blocks) {
      if (characters > maxEpisodeCharacters) break;
      if (block.type === "thinking") continue;
      const line = block.type === "text" ? block.text : `${block.name}: ${stringsOf(block.input)}`;
      lines.push(line);
      characters += line.length + 1;
    }
  }
  return cut(lines.join("\n"), maxEpisodeCharacters);
}

function stringsOf(input: unknown): string {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (found.length > 20) return;
    if (typeof value === "string") found.push(cut(value, maxCallCharacters));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  look(input);
  return cut(found.join(" "), maxCallCharacters);
}

/** A text in pieces, cut between words where there are any; together they are the text. */
export function chunksOf(text: string): readonly string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + chunkCharacters >= text.length ? text.length : cutNear(text, at + chunkCharacters);
    chunks.push(text.slice(at, end));
    at = end;
  }
  return chunks;
}

function cutNear(text: string, wanted: number): number {
  const space = text.slice(wanted - nudgeCharacters, wanted).search(/\s\S*$/);
  if (space >= 0) return wanted - nudgeCharacters + space + 1;
  const last = text.charCodeAt(wanted - 1);
  return last >= 0xd800 && last <= 0xdbff ? wanted - 1 : wanted;
}
