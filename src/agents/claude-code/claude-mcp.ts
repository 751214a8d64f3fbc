import { dirname, join } from "node:path";
import { z } from "zod";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { ClaudeConfig } from "./claude-config.ts";

const maxFileBytes = 1024 * 1024;
const maxDepth = 64;

const mcpFileSchema = z.looseObject({ mcpServers: z.record(z.string(), z.unknown()).default({}) });
const decisionsSchema = z.looseObject({
  enableAllProjectMcpServers: z.boolean().optional(),
  enabledMcpjsonServers: z.array(z.string()).optional(),
  hasTrustDialogAccepted: z.boolean().optional(),
});
const projectsSchema = z.record(z.string(), decisionsSchema);

/**
 * The servers that a repository's `.mcp.json` brings open a dialog at the start until somebody has decided on them. What the person
 * decided before stands; the others get the dialog's own default for this launch, which is to go on without them. A
 * repository's own settings decide only where the person once trusted it in Claude Code itself (its rule, measured).
 *
 * @returns the names to be disabled
 */
export async function undecidedMcpServers(
  dir: string,
  configDir: string,
  config: ClaudeConfig,
): Promise<readonly string[]> {
  const folders = [...ancestors(dir)];
  const files = await Promise.all(folders.map((folder) => readJson(join(folder, ".mcp.json"), mcpFileSchema)));
  const names = [...new Set(files.flatMap((file) => Object.keys(file?.mcpServers ?? {})))];
  if (names.length === 0) return [];
  const known = projectsSchema.safeParse(config["projects"]).data ?? {};
  const projects = folders.map((folder) => known[folder] ?? null);
  const isTrusted = projects.some((project) => project?.hasTrustDialogAccepted === true);
  const settings = [
    join(configDir, "settings.json"),
    ...folders.map((folder) => join(folder, ".claude", "settings.local.json")),
    ...(isTrusted ? folders.map((folder) => join(folder, ".claude", "settings.json")) : []),
  ];
  const decisions = [...projects, ...(await Promise.all(settings.map((path) => readJson(path, decisionsSchema))))];
  return names.filter(
    (name) =>
      !decisions.some(
        (decision) => decision?.enableAllProjectMcpServers || decision?.enabledMcpjsonServers?.includes(name) === true,
      ),
  );
}

function* ancestors(dir: string): Generator<string> {
  let folder = dir;
  for (let depth = 0; depth < maxDepth; depth += 1) {
    yield folder;
    const parent = dirname(folder);
    if (parent === folder) return;
    folder = parent;
  }
}

/** Null for a file that is missing, too large, or in another form: Claude Code judges it by itself. */
async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | null> {
  try {
    const text = await readSmallFile(path, maxFileBytes);
    return text instanceof Buffer ? (schema.safeParse(JSON.parse(text.toString("utf8"))).data ?? null) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
