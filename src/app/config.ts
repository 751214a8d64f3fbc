import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import { configFileSchema, type SettingSource, settingSources } from "./settings.ts";

/** Everything that can be set, from the defaults, the config file, the environment and the command line, later ones winning. */
export interface Config extends Omit<z.output<typeof configFileSchema>, "host" | "baseUrl" | "databaseUrl"> {
  /** The state folder, absolute. */
  readonly home: string;
  /** Where Unix sockets lie. */
  readonly runDir: string;
  readonly hosts: readonly string[];
  readonly baseUrl: string | null;
  readonly databaseUrl: string | null;
  /** The gateway's own environment, from which each agent gets its part. */
  readonly env: Environment;
  /** `POSTERN_TOKEN`, for commands that act as its bearer. */
  readonly token: string | null;
}

/** Settings that a command line gives. */
export interface ConfigOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly baseUrl?: string;
  readonly insecureHttp?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** This process's environment. */
const processEnvironment: Environment = process.env;

// The path of a Unix socket, with its end mark, has 108 bytes on Linux and 104 on macOS; the longest name of ours has 12.
const longestRunDirBytes = 90;

/** What a restore goes into: the state folder, and the store that the environment names, without what `config.json` says. */
export function stateFolder(env: Environment = processEnvironment): {
  readonly home: string;
  readonly databaseUrl: string | null;
} {
  const set = (name: string): string | null => env[name] || null;
  return {
    home: resolve(set("POSTERN_HOME") ?? join(homedir(), ".postern")),
    databaseUrl: set("POSTERN_DATABASE_URL"),
  };
}

/**
 * The configuration of this process. An empty variable is as an unset one.
 * @throws PosternError `invalid_configuration`, naming the setting
 */
export function loadConfig(env: Environment = processEnvironment, overrides: ConfigOverrides = {}): Config {
  const set = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);
  const home = resolve(set("POSTERN_HOME") ?? join(homedir(), ".postern"));
  const merged = { ...readConfigFile(home), ...given(fromEnvironment(set)), ...given(overrides) };
  const parsed = configFileSchema.safeParse(merged);
  if (!parsed.success) throw invalid(home, parsed.error);
  const { host, baseUrl, databaseUrl, ...rest } = parsed.data;
  return {
    ...rest,
    home,
    runDir: runDirOf(home, set("XDG_RUNTIME_DIR")),
    hosts: host === undefined ? ["127.0.0.1", "::1"] : [host],
    baseUrl: baseUrl ?? null,
    databaseUrl: databaseUrl ?? null,
    env,
    token: set("POSTERN_TOKEN") ?? null,
  };
}

/** The Unix socket on which a gateway of this configuration takes its owner's requests. */
export function gatewaySocketPath(config: Config): string {
  return join(config.runDir, "gateway.sock");
}

/** The address for people and browsers, when the gateway listens on `port`. */
export function browserAddress({ baseUrl, hosts, port }: Pick<Config, "baseUrl" | "hosts" | "port">): string {
  if (baseUrl !== null) return baseUrl.replace(/\/+$/, "");
  const [host = ""] = hosts;
  const reachesLoopback = hosts.length > 1 || ["127.0.0.1", "::1", "0.0.0.0", "::"].includes(host);
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${reachesLoopback ? "localhost" : name}${port === 80 ? "" : `:${port}`}`;
}

/** Every origin by which a gateway on `port` is reached, its own first. */
export function gatewayOrigins({
  baseUrl,
  hosts,
  port,
}: Pick<Config, "baseUrl" | "hosts" | "port">): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]", ...hosts.map((host) => (host.includes(":") ? `[${host}]` : host))];
  const bound = names.map((name) => new URL(`http://${name}:${port}`).origin);
  return [...new Set([new URL(browserAddress({ baseUrl, hosts, port })).origin, ...bound])];
}

function given(settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function fromEnvironment(set: (name: string) => string | undefined): Record<string, unknown> {
  const sources: readonly (readonly [string, SettingSource])[] = Object.entries(settingSources);
  return Object.fromEntries(sources.map(([name, { variable, form }]) => [name, valueOf(set(variable), form)]));
}

/** What is no number stays a text, for the schema to refuse with the setting's name. */
function valueOf(text: string | undefined, form: SettingSource["form"]): unknown {
  if (form === "list") return text?.split(",").map((item) => item.trim());
  return form === "number" && text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

function readConfigFile(home: string): Record<string, unknown> {
  const path = join(home, "config.json");
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return {}; // what is wrong with the folder, who makes it says
    const advice = isErrno(error, "EACCES", "EPERM")
      ? "Make it readable for this user, or choose another folder with POSTERN_HOME."
      : 'Fix the file. It must contain one JSON object, such as {"port": 7177}.';
    const message = `Cannot read ${path}: ${error instanceof z.ZodError ? "it is not a JSON object" : messageOf(error)}. ${advice}`;
    throw new PosternError("invalid_configuration", message, { cause: error });
  }
}

function runDirOf(home: string, runtimeDir: string | undefined): string {
  const own = join(home, "run");
  if (Buffer.byteLength(own) <= longestRunDirBytes) return own;
  // Two state folders never share their sockets.
  const name = `postern-${sha256(home).slice(0, 16)}`;
  return join(runtimeDir ?? tmpdir(), name);
}

function invalid(home: string, error: z.ZodError): PosternError {
  const [issue] = error.issues;
  const setting = issue?.path.join(".") ?? "";
  const reason = issue?.message ?? error.message;
  return new PosternError(
    "invalid_configuration",
    `Invalid setting "${setting}": ${reason}. Check ${join(home, "config.json")}, POSTERN_* or the command line.`,
  );
}
