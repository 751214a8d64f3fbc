import { readFileSync } from "node:fs";
import { z } from "zod";

/** Postern's version, from its package. */
export const packageVersion = z
  .looseObject({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))).version;
