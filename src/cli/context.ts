import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import { createGatewayClient } from "./gateway-client.ts";
import type { CliContext, CliStores } from "./ports.ts";

/** A client of the running gateway, as the owner. */
export async function connect({ ports }: Pick<CliContext, "ports">): Promise<PosternClient> {
  return createGatewayClient(await ports.socketPath());
}

/** Opens the store for one task, and closes it afterwards. */
export async function withStores<T>(context: CliContext, task: (stores: CliStores) => Promise<T>): Promise<T> {
  const stores = await context.ports.openStores();
  try {
    return await task(stores);
  } finally {
    await stores.close();
  }
}

// People do not type longer answers.
const maxAnswerLength = 1_000;

/** Reads the answer to a question, and returns whether it is yes. */
export async function saysYes(stdin: AsyncIterable<Uint8Array>): Promise<boolean> {
  let text = "";
  for await (const chunk of stdin) {
    text += Buffer.from(chunk).toString("utf8");
    if (text.includes("\n") || text.length > maxAnswerLength) break;
  }
  return /^\s*y(es)?\s*$/i.test(text.split("\n", 1)[0] ?? "");
}

/** @throws PosternError `usage` if `--yes` is missing and no one can be asked */
export function requireConfirmation(
  options: { readonly yes?: true; readonly json?: true },
  { interactive }: Pick<CliContext, "interactive">,
): void {
  if (options.yes || (!options.json && interactive)) return;
  throw new PosternError("usage", "Confirmation needed: run this in a terminal, or add --yes.");
}

/** Reads a whole input as text. @throws PosternError `too_large` with the given message */
export async function readAll(
  input: AsyncIterable<Uint8Array>,
  { maxBytes, tooLarge }: { readonly maxBytes: number; readonly tooLarge: string },
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of input) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new PosternError("too_large", tooLarge);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
