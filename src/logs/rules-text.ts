import { type Assertion, type EntityRef, keyOf, maxValueCharacters } from "./assertion.ts";
import { cut, withoutInjected } from "./plain-text.ts";

/** The speaker and the time. */
export interface Said {
  readonly session: EntityRef;
  readonly at: number;
}

/** A longer text is a file or a listing. */
const maxTextCharacters = 200_000;

/** Allows the mark of a list, quotation or heading before the keyword. */
const marked = /^[ \t>#*-]{0,12}\**(Decision|Remember)\**(?:[ \t]{0,4}\(([^()\n]{1,80})\))?:\**[ \t]*(\S[^\n]*)$/i;
/** `the timeout = 30 s`, `timeout: 30 s`: a topic in a few words, and the decision. */
const topicAndValue = /^([^\n=:]{1,60}?)[ \t]{0,8}(?:=|:[ \t]|→|->)[ \t]{0,8}(\S[^\n]*)$/;
const maxTopicWords = 6;

const urls = /https?:\/\/[^\s<>"'`)\]}|\\^]{1,400}/g;
const trailing = /[.,;:!?*_]{1,20}$/;
const issueAddress =
  /^https:\/\/(?:github|gitlab)\.[\w.-]{1,100}\/([\w.-]{1,100}\/[\w.-]{1,100})\/(?:-\/)?(?:issues|pull|merge_requests)\/(\d{1,9})/;
const issues = /(?<![\w&/#-])((?:[\w.-]{1,100}\/[\w.-]{1,100})?#\d{1,9})(?![\w-])/g;

/** Decisions, reminders, URLs and issues in a text. */
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

/** A URL, with credentials already masked. */
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

/** Trims whitespace and asterisks at the end. A regular expression would take quadratic time on a long row of asterisks. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s*]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** A decision about a topic holds until the next one; without a topic, its text is its key. */
function ofDecision(text: string, inBrackets: string | null, { session, at }: Said): readonly Assertion[] {
  const [, before, after] = inBrackets === null ? (topicAndValue.exec(text) ?? []) : ["", inBrackets, text];
  const topic = before === undefined ? null : topicOf(before);
  const decision: EntityRef = { type: "Decision", key: topic ?? keyOf(text) };
  return [
    { subject: session, predicate: "decided", object: decision, at },
    { subject: decision, predicate: "status", object: topic === null ? "decided" : (after ?? text), at },
  ];
}

/** A topic of a few words, ignoring case, articles and quotation marks; null otherwise. */
export function topicOf(text: string): string | null {
  const topic = keyOf(
    text
      .toLowerCase()
      .replace(/[*_`"']/g, "")
      .replace(/^(?:the|a|an)\s/, ""),
  );
  return topic === "" || topic.split(" ").length > maxTopicWords || /^https?$/.test(topic) ? null : topic;
}
