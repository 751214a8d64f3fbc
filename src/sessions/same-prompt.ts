import { withoutInvisible } from "./prompt-text.ts";

// Hooks cut strings to 16,384 characters (`hook-inbox.mjs`).
const hookCutLength = 16_384;
// Turns of a transcript are cut too; no two prompts in flight differ only after this.
const comparedLength = 8_000;

/**
 * Whether an agent's report of a prompt is of this one. Agents fold white space, compose accents and drop invisible characters
 * (measured: Claude Code), and the report can be cut.
 */
export function samePrompt(ours: string, reported: string): boolean {
  const [left, right] = [asReported(ours), asReported(reported)];
  if (left === "" || right === "") return false;
  if (left === right) return true;
  // The cut can be between a letter and its accent.
  if (reported.length >= hookCutLength && left.startsWith(right.slice(0, -1))) return true;
  return (
    left.length >= comparedLength &&
    right.length >= comparedLength &&
    left.slice(0, comparedLength) === right.slice(0, comparedLength)
  );
}

/** Whether what an agent took contains this prompt: with a draft before it, or with what the agent adds. */
export function containsPrompt(ours: string, reported: string): boolean {
  const text = asReported(ours).slice(0, comparedLength);
  return text !== "" && asReported(reported).includes(text);
}

/** A text in the form in which agents report it, and show it. */
export function asReported(text: string): string {
  return withoutInvisible(text).normalize("NFC").replaceAll(/\s+/g, " ").trim();
}
