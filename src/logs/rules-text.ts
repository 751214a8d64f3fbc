import { type Assertion, type EntityRef, keyOf, maxValueCharacters } from "./assertion.ts";
import { cut, withoutInjected } from "./plain-text.ts";

/** Who says it, and when. */
export interface Said {
  readonly session: EntityRef;
  readonly at: number;
}

/** Beyond it a text is not looked at for what it mentions: it is a file or a listing. */
const maxTextCharacters = 200_000;

/** Behind a list's mark, a quotation's or a heading's. */
const marked = /^[ \t>#*-]{0,12}\**(Decision|Remember)\**(?:[ \t]{0,4}\(([^()\n]{1,80})\))?:\**[ \t]*(\S[^\n]*)$/i;
/** `the timeout = 30 s`, `timeout: 30 s`: what it is about, in a few words, and what was decided. */
const topicAndValue = /^([^\n=:]{1,60}?)[ \t]{0,8}(?:=|:[ \t]|→|->)[ \t]{0,8}(\S[^\n]*)$/;
const maxTopicWords = 6;

const urls = /https?:\/\/[^\s<>"'`)\]}|\\^]{1,400}/g;
const trailing = /[.,;:!?*_]{1,20}$/;
const issueAddress =
  /^https:\/\/(?:github|gitlab)\.[\w.-]{1,100}\/([\w.-]{1,100}\/[\w.-]{1,100})\/(?:-\/)?(?:issues|pull|merge_requests)\/(\d{1,9})/;
const issues = /(?<![\w&/#-])((?:[\w.-]{1,100}\/[\w.-]{1,100})?#\d{1,9})(?![\w-])/g;

/** What a person or an agent says in words: decisions, what to remember, addresses and issues. */
export function assertionsOfText(text: string, said: Said): readonly Assertion[] {
  const own = withoutInjected(cut(text, maxTextCharacters));
  const found: Assertion[] = [];
  for (const line of own.split("\n")) found.push(...ofLine(line, said));
  for (const [whole] of own.matchAll(urls)) found.push(...ofAddress(whole.replace(trailing, ""), said));
  if (own.includes("#")) {
    for (const [, issue = ""] of own.matchAll(issues)) found.push(mentions({ type: "Issue", key: issue }, said));
  }
  return found;
}

/** An address that was called or named; credentials in it are masked before. */
export function ofAddress(address: string, said: Said): readonly Assertion[] {
  const issue = issueAddress.exec(address);
  const url = mentions({ type: "Url", key: keyOf(address) }, said);
  return issue === null ? [url] : [url, mentions({ type: "Issue", key: `${issue[1] ?? ""}#${issue[2] ?? ""}` }, said)];
}

function mentions(object: EntityRef, { session, at }: Said): Assertion {
  return { subject: session, predicate: "mentioned", object, at };
}

function ofLine(line: string, said: Said): readonly Assertion[] {
  const [, word = "", inBrackets, rest = ""] = marked.exec(line.slice(0, 4 * maxValueCharacters)) ?? [];
  if (word === "") return [];
  const text = cut(withoutEnd(rest), maxValueCharacters);
  if (word.toLowerCase() === "remember") {
    return [{ subject: said.session, predicate: "remembered", object: text, at: said.at }];
  }
  return ofDecision(text, inBrackets ?? null, said);
}

/** Without white space and stars at its end. By a loop: an expression would begin anew at every star of a long row in the middle. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s*]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** A decision about a topic holds until the next about it; one without says itself. */
function ofDecision(text: string, inBrackets: string | null, { session, at }: Said): readonly Assertion[] {
  const [, before, after] = inBrackets === null ? (topicAndValue.exec(text) ?? []) : ["", inBrackets, text];
  const topic = before === undefined ? null : topicOf(before);
  const decision: EntityRef = { type: "Decision", key: topic ?? keyOf(text) };
  return [
    { subject: session, predicate: "decided", object: decision, at },
    { subject: decision, predicate: "status", object: topic === null ? "decided" : (after ?? text), at },
  ];
}

/** What a decision is about, when it is a few words: case, articles and marks do not make another topic. */
export function topicOf(text: string): string | null {
  const topic = keyOf(
    text
      .toLowerCase()
      .replace(/[*_`"']/g, "")
      .replace(/^(?:the|a|an)\s/, ""),
  );
  return topic === "" || topic.split(" ").length > maxTopicWords || /^https?$/.test(topic) ? null : topic;
}
