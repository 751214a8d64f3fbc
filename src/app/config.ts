import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { hasCode, isErrno, messageOf, PosternError } from "../core/errors.ts";
import { isLoopback } from "../http/known-host.ts";
import { type Environment, processEnvironment, runFolder, stateFolder } from "./environment.ts";
import { configFileSchema, type SettingSource, settingSources } from "./settings.ts";

/** All settings: defaults, then the config file, the environment and the command line; later ones take precedence. */
export interface Config extends Omit<z.output<typeof configFileSchema>, "host" | "baseUrl" | "databaseUrl"> {
  /** The state folder, absolute. */
  readonly home: string;
  /** Folder of the Unix sockets. */
  readonly runDir: string;
  readonly hosts: readonly string[];
  readonly baseUrl: string | null;
  readonly databaseUrl: string | null;
  /** The gateway's environment; each agent gets a part of it. */
  readonly env: Environment;
  /** `POSTERN_TOKEN`. */
  readonly token: string | null;
}

/** Settings from the command line. */
export interface ConfigOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly baseUrl?: string;
  readonly insecureHttp?: boolean;
}

/**
 * The configuration of this process. Empty variables count as unset.
 * @throws PosternError `invalid_configuration`, naming the setting
 */
export function loadConfig(env: Environment = processEnvironment, overrides: ConfigOverrides = {}): Config {
  const { home } = stateFolder(env);
  return configFrom(env, { ...readConfigFile(home), ...fromEnvironment(env), ...given(overrides) });
}

/** The configuration without its invalid parts, for `postern doctor`. `problem` describes these, with the variable if one is invalid. */
export function loadUsableConfig(env: Environment = processEnvironment): {
  readonly config: Config;
  readonly problem: { readonly message: string; readonly variable: string | null } | null;
} {
  try {
    return { config: loadConfig(env), problem: null };
  } catch (error) {
    if (!hasCode(error, "invalid_configuration")) throw error;
    return { config: usableConfig(env), problem: { message: messageOf(error), variable: invalidVariable(env) } };
  }
}

/** The first variable whose value is invalid regardless of other settings. */
function invalidVariable(env: Environment): string | null {
  const variables = Object.values(settingSources).map(({ variable }) => variable);
  const isInvalid = (variable: string): boolean =>
    !configFileSchema.safeParse(fromEnvironment({ [variable]: env[variable] })).success;
  return variables.find(isInvalid) ?? null;
}

function usableConfig(env: Environment): Config {
  try {
    return configFrom(env, fromEnvironment(env));
  } catch {
    return configFrom(env, {}); // the problem is also, or only, in the environment
  }
}

function configFrom(env: Environment, settings: Record<string, unknown>): Config {
  const set = (name: string): string | undefined => env[name] || undefined;
  const { home } = stateFolder(env);
  const parsed = configFileSchema.safeParse(settings);
  if (!parsed.success) throw invalid(home, parsed.error);
  const { host, baseUrl, databaseUrl, ...rest } = parsed.data;
  return {
    ...rest,
    home,
    runDir: runFolder(home, env),
    hosts: host === undefined ? ["127.0.0.1", "::1"] : [host],
    baseUrl: baseUrl ?? null,
    databaseUrl: databaseUrl ?? null,
    env,
    token: set("POSTERN_TOKEN") ?? null,
  };
}

/** The address for people and browsers, when the gateway listens on `port`. */
export function browserAddress({ baseUrl, hosts, port }: Pick<Config, "baseUrl" | "hosts" | "port">): string {
  if (baseUrl !== null) return baseUrl.replace(/\/+$/, "");
  const [host = ""] = hosts;
  const reachesLoopback = hosts.length > 1 || ["127.0.0.1", "::1", "0.0.0.0", "::"].includes(host);
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${reachesLoopback ? "localhost" : name}${port === 80 ? "" : `:${port}`}`;
}

/** All origins of a gateway on `port`, starting with the one of {@link browserAddress}. */
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

function fromEnvironment(env: Environment): Record<string, unknown> {
  const sources: readonly (readonly [string, SettingSource])[] = Object.entries(settingSources);
  return given(
    Object.fromEntries(sources.map(([name, { variable, form }]) => [name, valueOf(env[variable] || undefined, form)])),
  );
}

/** An invalid number stays text, so that the schema refuses it. */
function valueOf(text: string | undefined, form: SettingSource["form"]): unknown {
  if (form === "list") return text?.split(",").map((item) => item.trim());
  return form === "number" && text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

function readConfigFile(home: string): Record<string, unknown> {
  const path = join(home, "config.json");
  let text = "";
  try {
    text = readFileSync(path, "utf8");
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return {}; // other problems of the folder are reported when it is created
    const advice = isErrno(error, "EACCES", "EPERM")
      ? "Make it readable for this user, or choose another folder with POSTERN_HOME."
      : 'Fix the file. It must contain one JSON object, such as {"port": 7177}.';
    const place = error instanceof SyntaxError ? `${path}, line ${lineOfError(text)}` : path;
    const message = `Cannot read ${place}: ${error instanceof z.ZodError ? "it is not a JSON object" : messageOf(error)}. ${advice}`;
    throw new PosternError("invalid_configuration", message, { cause: error });
  }
}

/** The line of the first syntax error: the first after which the text so far is invalid, and not only incomplete. */
function lineOfError(text: string): number {
  const lines = text.split("\n");
  const line = lines.findIndex((_, index) => {
    const start = lines.slice(0, index + 1).join("\n");
    try {
      JSON.parse(start);
      return false;
    } catch (error) {
      const [, position] = /at position (\d+)/.exec(messageOf(error)) ?? [];
      if (/end of JSON input/.test(messageOf(error))) return false;
      return position === undefined || Number(position) < start.length;
    }
  });
  return line === -1 ? lines.length : line + 1;
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

/**
 * Who can reach a gateway: this machine only, others over https (through a proxy at the base URL), or others over http.
 */
export type Exposure = "this_machine" | "https" | "plain_http";

export function exposureOf({ hosts, baseUrl }: Pick<Config, "hosts" | "baseUrl">): {
  readonly exposure: Exposure;
  /** Addresses to listen on, beyond loopback. */
  readonly openHosts: readonly string[];
} {
  const openHosts = hosts.filter((host) => !isLoopback(host));
  const address = baseUrl === null ? null : new URL(baseUrl);
  if (address?.protocol === "https:") return { exposure: "https", openHosts };
  const isPublic = openHosts.length > 0 || (address !== null && !isLoopback(address.hostname));
  return { exposure: isPublic ? "plain_http" : "this_machine", openHosts };
}

/**
 * Prevents listening on a network by mistake.
 * @throws PosternError `unsafe_configuration` for an address beyond loopback without an https base URL, unless `insecureHttp` is set
 */
export function refuseReadableNetwork(config: Pick<Config, "hosts" | "baseUrl" | "insecureHttp">): void {
  const { exposure, openHosts } = exposureOf(config);
  if (config.insecureHttp || openHosts.length === 0 || exposure !== "plain_http") return;
  throw new PosternError(
    "unsafe_configuration",
    `Listening on ${openHosts.join(", ")} over http lets others on the network read tokens and terminals. Omit --host and use a tunnel (ssh -L, Tailscale, cloudflared), or put a proxy with TLS in front and pass its address with --base-url https://… See docs/remote-access.md. On a network that you trust: --insecure-http.`,
  );
}
