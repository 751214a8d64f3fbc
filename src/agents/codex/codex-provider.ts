import { stat } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { isErrno } from "../../core/errors.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { Environment } from "../template.ts";

/** As much of `config.toml` as a start needs. */
export interface CodexConfig {
  /** Whether the person chose a provider or a place for the log-in: then nothing is added. */
  readonly choosesProvider: boolean;
  /** Where they said the vendor's API is. */
  readonly openAiUrl: string | null;
  readonly developerInstructions: string | null;
}

const maxConfigBytes = 1024 * 1024;

/** Reads `config.toml`; one that does not parse is the person's to repair, and Codex says so on its screen. */
export async function readCodexConfig(home: string): Promise<CodexConfig> {
  const path = join(home, "config.toml");
  const config = await parsedConfig(path);
  if (config === null) {
    const choosesProvider = await exists(path); // not readable: keep what it may say
    return { choosesProvider, openAiUrl: null, developerInstructions: null };
  }
  const store = config["cli_auth_credentials_store"];
  const provider = config["model_provider"];
  return {
    choosesProvider:
      (provider !== undefined && provider !== "openai") || // the built-in one needs a log-in, and there is none
      config["profile"] !== undefined ||
      config["oss_provider"] !== undefined ||
      (store !== undefined && store !== "file"),
    openAiUrl: textOf(config["openai_base_url"]),
    developerInstructions: textOf(config["developer_instructions"]),
  };
}

async function parsedConfig(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  const bytes = await readSmallFile(path, maxConfigBytes);
  try {
    return Buffer.isBuffer(bytes) ? parse(bytes.toString("utf8")) : null;
  } catch {
    return null; // no TOML
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The variables that Codex knows as API keys, the first one set is taken. */
export const codexKeyVariables = ["OPENAI_API_KEY", "CODEX_API_KEY"] as const;

const openAiUrl = "https://api.openai.com/v1";

/**
 * Codex's terminal reads no key variable by itself (measured). When one is set, nobody is logged in and no provider is chosen, a
 * provider for this launch alone makes the key work: nothing is written, nothing replaced.
 */
export async function keyProviderArguments(
  home: string,
  config: CodexConfig,
  env: Environment,
): Promise<readonly string[]> {
  const variable = codexKeyVariables.find((name) => Boolean(env[name]));
  if (variable === undefined || config.choosesProvider || (await exists(join(home, "auth.json")))) return [];
  const provider = [
    `name="OpenAI"`,
    `base_url=${tomlString(config.openAiUrl ?? (env["OPENAI_BASE_URL"] || openAiUrl))}`,
    `env_key=${tomlString(variable)}`,
    `wire_api="responses"`,
  ].join(",");
  return ["-c", `model_provider="openai-key"`, "-c", `model_providers.openai-key={${provider}}`];
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    return !isErrno(error, "ENOENT", "ENOTDIR");
  }
}

/** A TOML basic string. JSON's escapes are TOML's, but for DEL, which TOML wants escaped, and half surrogates, which it does not know. */
export function tomlString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007F");
}

/** A TOML inline table; the values are TOML already. */
export function tomlTable(entries: readonly (readonly [key: string, value: string])[]): string {
  return `{${entries.map(([key, value]) => `${tomlString(key)}=${value}`).join(",")}}`;
}
