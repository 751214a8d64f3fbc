import createMarkdown, { type MarkdownIt, type Token } from "markdown-it";
import { webAddress } from "../ui/untrusted.tsx";

/** A part of a text, and what is within it. */
export interface MarkdownNode {
  readonly token: Token;
  readonly children: readonly MarkdownNode[];
}

export interface MarkdownText {
  readonly nodes: readonly MarkdownNode[];
  /** What is not formatted, as it was written; most often empty. */
  readonly rest: string;
}

// A parser's time grows faster than its text, for a text that is made for it. These keep the worst far under a second.
/** Agents' answers and plans are a few thousand characters. */
const maxLength = 32_000;
const maxLines = 1_000;
/** A longer paragraph is shown as it was written. */
const maxParagraphLength = 4_000;
/** Parts of a text before what is within its paragraphs: a table of 6,000 cells. */
const maxParts = 20_000;
/** Lists and quotes, each in another; a list counts as two. */
const maxNesting = 16;
/** Emphasis in emphasis in emphasis. */
const maxInlineNesting = 8;

const parser = createParser();

/** Reads a text that is not trusted. HTML in it is text, and links lead to http and https alone. */
export function readMarkdown(text: string): MarkdownText {
  const end = lengthToFormat(text);
  const tokens = parser.parse(text.slice(0, end), {});
  // What nests deeper was left out by the parser; nothing of a transcript is hidden.
  const whole = tokens.length > 0 && tokens.every(({ level }) => level < maxNesting - 1);
  return whole ? { nodes: treeOf(tokens, maxNesting), rest: text.slice(end) } : { nodes: [], rest: text };
}

function createParser(): MarkdownIt {
  const markdown = createMarkdown({ html: false, linkify: true, maxNesting });
  // A definition of a link stays to be seen.
  markdown.disable(["reference"]);
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.validateLink = (address) => webAddress(address) !== null;
  // An address is shown as it is written: decoded, it could pass for another.
  markdown.normalizeLinkText = (address) => address;
  markdown.core.ruler.at("inline", (state) => {
    if (state.tokens.length > maxParts) state.tokens = [];
    for (const token of state.tokens) {
      if (token.type !== "inline") continue;
      token.children = [];
      if (token.content.length > maxParagraphLength) continue;
      markdown.inline.parse(token.content, markdown, state.env, token.children);
    }
  });
  return markdown;
}

/** Up to the end of the last line that is within the bounds. */
function lengthToFormat(text: string): number {
  let end = 0;
  let lines = 0;
  for (const { 0: ending, index } of text.matchAll(/\r\n?|\n/g)) {
    const next = index + ending.length;
    lines += 1;
    if (next > maxLength || lines > maxLines) return end;
    end = next;
  }
  return text.length > maxLength ? end : text.length;
}

/** The parser writes a list in which parts begin and end. Below the depth, parts are left out and what is in them stays. */
function treeOf(tokens: readonly Token[], maxDepth: number): readonly MarkdownNode[] {
  const root: MarkdownNode[] = [];
  const open: MarkdownNode[][] = [];
  for (const token of tokens) {
    const siblings = open.at(-1) ?? root;
    if (token.nesting === -1) {
      open.pop();
    } else if (token.nesting === 0) {
      siblings.push({ token, children: treeOf(token.children ?? [], maxInlineNesting) });
    } else if (open.length >= maxDepth) {
      open.push(siblings);
    } else {
      const children: MarkdownNode[] = [];
      siblings.push({ token, children });
      open.push(children);
    }
  }
  return root;
}
