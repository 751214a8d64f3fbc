import { PosternError } from "../core/errors.ts";
import type { CliContext } from "./ports.ts";

// Nobody types a longer answer.
const maxAnswerLength = 1_000;

/** Whether a person answers the question, which was asked, with yes. */
export async function saysYes(stdin: AsyncIterable<Uint8Array>): Promise<boolean> {
  let text = "";
  for await (const chunk of stdin) {
    text += Buffer.from(chunk).toString("utf8");
    if (text.includes("\n") || text.length > maxAnswerLength) break;
  }
  return /^\s*y(es)?\s*$/i.test(text.split("\n", 1)[0] ?? "");
}

/** @throws PosternError `usage` when what cannot be undone would have to be asked of nobody */
export function requireSomebodyToAsk(
  options: { readonly yes?: true; readonly json?: true },
  { interactive }: Pick<CliContext, "interactive">,
): void {
  if (options.yes || (!options.json && interactive)) return;
  throw new PosternError("usage", "There is nobody to ask whether it shall be removed for good: add --yes.");
}
