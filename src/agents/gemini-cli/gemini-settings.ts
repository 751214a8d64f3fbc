import { mkdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { Environment, LaunchRequest } from "../template.ts";

/** Variables that replace a login. */
export const geminiKeyVariables = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

export function geminiDir(env: Environment): string {
  return join(env["GEMINI_CLI_HOME"] || env["HOME"] || homedir(), ".gemini");
}

/** Far more than people write; the project's file can be of any size. */
const maxSettingsBytes = 1024 * 1024;

/** Null if it is missing or not a regular file; empty if it is too large, which is left alone. */
async function textOf(path: string): Promise<string | null> {
  const text = await readSmallFile(path, maxSettingsBytes);
  return text === "too_large" ? "" : (text?.toString("utf8") ?? null);
}

const lineComment = /^\s*\/\/.*$/gm;
const switchedOff = /"dynamicWindowTitle"\s*:\s*false|"hideWindowTitle"\s*:\s*true/;

/** The user's or project's settings file that hides the state in the window title, or null. */
export async function hidesTitle({ env, dir }: Pick<LaunchRequest, "env" | "dir">): Promise<string | null> {
  for (const path of [join(geminiDir(env), "settings.json"), join(dir, ".gemini", "settings.json")]) {
    const text = await textOf(path);
    if (text !== null && switchedOff.test(text.replace(lineComment, ""))) return path;
  }
  return null;
}

const settingsSchema = z.looseObject({
  security: z.looseObject({ auth: z.looseObject({ selectedType: z.unknown() }).optional() }).optional(),
});

/**
 * Selects a key in the environment as the login, unless the user chose another method or logged in. A file that is not plain JSON is left alone:
 * then the agent's dialog opens.
 */
export async function answerKeyDialog(env: Environment): Promise<void> {
  if (!env["GEMINI_API_KEY"] || env["GOOGLE_GENAI_USE_GCA"] || env["GOOGLE_GENAI_USE_VERTEXAI"]) return;
  const dir = geminiDir(env);
  if ((await textOf(join(dir, "oauth_creds.json"))) !== null) return;
  const path = join(dir, "settings.json");
  const settings = parsed((await textOf(path)) ?? "{}");
  if (settings === null || settings.security?.auth?.selectedType !== undefined) return;
  const security = { ...settings.security, auth: { ...settings.security?.auth, selectedType: "gemini-api-key" } };
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { target, mode } = await behindLinks(path);
  await writeFileAtomic(target, `${JSON.stringify({ ...settings, security }, null, 2)}\n`, { mode });
}

function parsed(text: string): z.infer<typeof settingsSchema> | null {
  try {
    return settingsSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // left alone, for example because it has comments
  }
}

async function behindLinks(path: string): Promise<{ readonly target: string; readonly mode: number }> {
  try {
    const target = await realpath(path);
    return { target, mode: (await stat(target)).mode & 0o777 };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { target: path, mode: 0o600 };
    throw error;
  }
}
