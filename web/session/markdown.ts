import createMarkdown, { type MarkdownIt, type Token } from "markdown-it";
import { webAddress } from "../ui/untrusted.tsx";

export interface MarkdownNode {
  readonly token: Token;
  readonly children: readonly MarkdownNode[];
}

export interface MarkdownText {
  readonly nodes: readonly MarkdownNode[];
  /** The unformatted rest; usually empty. */
  readonly rest: string;
}

// Malicious text takes the parser more than linear time. These bounds keep it far under a second.
/** Answers and plans have a few thousand characters. */
const maxLength = 32_000;
const maxLines = 1_000;
/** Longer paragraphs stay unformatted. */
const maxParagraphLength = 4_000;
/** Block tokens: a table of 6,000 cells. */
const maxParts = 20_000;
/** Nested lists and quotes; a list counts as two. */
const maxNesting = 16;
const maxInlineNesting = 8;

const parser = createParser();

/** Parses untrusted text. HTML stays text, and links lead only to http and https. */
export function readMarkdown(text: string): MarkdownText {
  const end = lengthToFormat(text);
  const tokens = parser.parse(text.slice(0, end), {});
  // The parser drops deeper nesting, but no part of a transcript may be hidden.
  const whole = tokens.length > 0 && tokens.every(({ level }) => level < maxNesting - 1);
  return whole ? { nodes: treeOf(tokens, maxNesting), rest: text.slice(end) } : { nodes: [], rest: text };
}

function createParser(): MarkdownIt {
  const markdown = createMarkdown({ html: false, linkify: true, maxNesting });
  // Keep link definitions visible.
  markdown.disable(["reference"]);
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  markdown.validateLink = (address) => webAddress(address) !== null;
  // Addresses are shown as written, because a decoded one could imitate another address.
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

/** The end of the last line within the bounds. */
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

/** Turns the flat token list into a tree. Below the depth, elements are dropped and their content stays. */
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
