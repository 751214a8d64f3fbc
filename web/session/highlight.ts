import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = {
  bash,
  c,
  cpp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
} as const;

const highlighter = core.newInstance();
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language);

export interface CodePiece {
  readonly text: string;
  readonly scope: string | null;
}

/** Longer code stays plain. */
const maxHighlightedLength = 60_000;

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Highlighted pieces of text, never HTML; null for an unknown language. */
export function highlight(code: string, language: string): readonly CodePiece[] | null {
  if (code.length > maxHighlightedLength || highlighter.getLanguage(language) === undefined) return null;
  const pieces: CodePiece[] = [];
  const scopes: string[] = [];
  // The highlighter's output is nested spans around escaped text.
  for (const part of highlighter.highlight(code, { language, ignoreIllegals: true }).value.split(/(<[^>]*>)/)) {
    if (part === "</span>") scopes.pop();
    else if (part.startsWith("<span")) scopes.push(/class="(?:hljs-)?([\w-]+)/.exec(part)?.[1] ?? "");
    else if (part !== "") {
      const text = part.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => entities[entity] ?? entity);
      pieces.push({ text, scope: scopes.at(-1) ?? null });
    }
  }
  return pieces;
}
