import { z } from "zod";
import { savedIndexerSchema } from "../transcripts/index.ts";
import type { CollectorState } from "./turn-text.ts";

const collectorSchema: z.ZodType<CollectorState> = z.object({
  turnIndex: z.int(),
  turnStart: z.int(),
  characters: z.int(),
  command: z.string().nullable(),
  form: z.enum(["responses", "events", "items"]),
  handedOver: z.int(),
});

const savedScanSchema = z.object({ indexer: savedIndexerSchema, collector: collectorSchema });

/** Where the readers of a file stand, to go on when it has grown. */
export type SavedScan = z.infer<typeof savedScanSchema>;

/** Reads what was put by as JSON; null for what is not of this version. */
export function parseSavedScan(json: string): SavedScan | null {
  try {
    return savedScanSchema.safeParse(JSON.parse(json)).data ?? null;
  } catch {
    return null; // no JSON: the file is read anew
  }
}
