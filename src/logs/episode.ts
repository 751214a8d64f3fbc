import { distinct, isSingleValued, type TaggedAssertion } from "./assertion.ts";
import { cut } from "./plain-text.ts";
import type { SearchText } from "./ports.ts";
import { type LogBody, type LogContext, rules } from "./rules.ts";

/** Words in the title count more. */
const titleWeight = 3;

export interface Episode {
  readonly accountId: string;
  readonly logId: string;
  readonly characters: number;
  readonly recordedAt: number;
  readonly chunks: readonly CountedChunk[];
  readonly assertions: readonly TaggedAssertion[];
}

/** A piece of text with its word counts. */
export interface CountedChunk {
  readonly content: string;
  readonly words: ReadonlyMap<string, number>;
}

/** Splits an episode's text into chunks. The title counts for the first one. */
function countChunks(text: string, title: string | null, searchText: SearchText): readonly CountedChunk[] {
  const chunks = chunksOf(text);
  return (chunks.length === 0 ? [""] : chunks).map((content, position) => {
    const words = new Map<string, number>();
    const count = (part: string, weight: number): void => {
      for (const word of searchText.words(part)) words.set(word, (words.get(word) ?? 0) + weight);
    };
    if (position === 0 && title !== null) count(title, titleWeight);
    count(content, 1);
    return { content, words };
  });
}

/** What an episode is derived from. */
export interface Derivable {
  readonly accountId: string;
  readonly logId: string;
  readonly title: string | null;
  readonly sessionId: string | null;
  readonly observedAt: number;
  readonly recordedAt: number;
  readonly context: LogContext;
  readonly body: LogBody;
}

/** An episode with the assertions of the rules and, as `more`, of an extractor. */
export function episodeOf(of: Derivable, searchText: SearchText, more: readonly TaggedAssertion[] = []): Episode {
  const { accountId, logId, recordedAt, title } = of;
  const text = episodeText(of.body);
  const own = rules(of);
  return {
    accountId,
    logId,
    recordedAt,
    characters: text.length,
    chunks: countChunks(text, title, searchText),
    assertions: distinct([...own, ...more.filter((one) => !isKnown(one, own))]),
  };
}

/** Whether the rules already found a value in this entry: an extractor's guess, with the same time, must not supersede it. */
function isKnown({ subject, predicate }: TaggedAssertion, own: readonly TaggedAssertion[]): boolean {
  if (!isSingleValued(predicate)) return false;
  return own.some(
    (one) => one.predicate === predicate && one.subject.type === subject.type && one.subject.key === subject.key,
  );
}

/** About a page, in which a snippet is found quickly. */
const chunkCharacters = 4_000;
/** How far a cut moves back to fall between words. */
const nudgeCharacters = 200;
/** Text beyond this is not searchable. */
const maxEpisodeCharacters = 250_000;
/** Enough of a tool's input for a command or a path. */
const maxCallCharacters = 400;

/** What was said and done, as text for search and for the extractor's model. */
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

/** Splits a text, between words where possible. */
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
