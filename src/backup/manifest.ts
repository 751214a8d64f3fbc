import { z } from "zod";

/** The last file of a backup: what it is of, and the hash of everything before. */
export const manifestName = "manifest.json";

/** Of a manifest: two files for each of some hundred recordings are far less. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** Files that a backup may hold, and no others. */
export const partNameSchema = z
  .string()
  .regex(
    /^(store\.db|store\.jsonl|config\.json|key|gateway-id|recordings\/[0-9a-zA-Z-]{1,64}\/[0-9a-z][0-9a-z.-]{0,30})$/,
  );

/** The manifest of a backup. */
export const manifestSchema = z.object({
  format: z.literal("postern-backup"),
  formatVersion: z.int().min(1),
  /** The version of Postern that made it. */
  postern: z.string(),
  createdAt: z.iso.datetime(),
  /** `sqlite`: `store.db` is the file. `postgres`: `store.jsonl` holds the tables' rows. */
  store: z.enum(["sqlite", "postgres"]),
  /** The migrations that the store has, in order. */
  schema: z.array(z.string()).min(1).readonly(),
  withKey: z.boolean(),
  withRecordings: z.boolean(),
  parts: z.array(
    z.object({ name: partNameSchema, sizeBytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
});

export type Manifest = z.infer<typeof manifestSchema>;

/** The newest form that this version reads, and the one that it writes. */
export const formatVersion = 1;
