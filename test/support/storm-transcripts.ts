import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { World } from "./gateway.ts";

/** A prompt's place in the agents' transcripts, once for each time that it is there. */
type MarksInTranscripts = ReadonlyMap<string, readonly string[]>;

const textsSchema = z
  .union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))])
  .transform((content) => (typeof content === "string" ? [content] : content.map(({ text = "" }) => text)));
const claudeLine = z
  .looseObject({
    type: z.literal("user"),
    isMeta: z.literal(false).optional(),
    message: z.looseObject({ content: textsSchema }),
  })
  .transform(({ message }) => message.content);
const codexLine = z
  .looseObject({
    type: z.literal("event_msg"),
    payload: z.looseObject({
      type: z.literal("item_completed"),
      item: z.looseObject({ type: z.literal("UserMessage"), content: textsSchema }),
    }),
  })
  .transform(({ payload }) => payload.item.content);

/** Reads the agents' files without Postern's own readers: which prompts are in which. */
export async function marksInTranscripts({ root }: World): Promise<MarksInTranscripts> {
  const found = new Map<string, string[]>();
  for (const [folder, line] of [
    [join(root, "claude", "projects"), claudeLine],
    [join(root, "codex", "sessions"), codexLine],
  ] as const) {
    const files = await readdir(folder, { recursive: true });
    for (const file of files.filter((name) => name.endsWith(".jsonl"))) {
      const lines = (await readFile(join(folder, file), "utf8")).split("\n");
      for (const text of lines.flatMap((json) => userTexts(json, line))) {
        for (const [mark] of text.matchAll(/storm-\d+-end/g)) found.set(mark, [...(found.get(mark) ?? []), file]);
      }
    }
  }
  return found;
}

function userTexts(json: string, line: z.ZodType<string[]>): readonly string[] {
  try {
    return line.safeParse(JSON.parse(json)).data ?? [];
  } catch {
    return []; // a line that a killed agent did not write to its end
  }
}
