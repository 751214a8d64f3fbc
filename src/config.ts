import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { customAgentSchema } from "./coding/agents/index.ts";
import { isErrno, messageOf, PosternError } from "./core/errors.ts";
import { sha256 } from "./core/ids.ts";
import { isAddressEntry, isNetworkEntry } from "./platform/public-address.ts";
import { scopeSchema } from "./wire/access.ts";

const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/** An address without credentials, which would end up in messages. */
const modelAddressSchema = z
  .url({ protocol: /^https?$/ })
  .refine((address) => /^[^?#@]*$/.test(address), "An address without credentials and query is needed.");

const extractorModel = {
  model: z.string().min(1).max(100).describe("The model's name, as its provider calls it."),
  apiKeyVariable: z
    .string()
    .regex(/^POSTERN_[A-Z0-9_]+$/)
    .optional()
    .describe(
      "The gateway's variable that holds the key; agents do not get it. POSTERN_EXTRACTOR_API_KEY when left out, which may be empty for a server without keys.",
    ),
};

/** The config file, `config.json` in the state folder. Every key has a default; an unknown one is an error. */
export const configFileSchema = z
  .strictObject({
    host: z.string().min(1).optional().describe("Address to listen on. Both loopback addresses when left out."),
    port: z.int().min(0).max(65_535).default(7177).describe("Port; 0 takes any free one."),
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The address that browsers use, when a proxy is in front."),
    insecureHttp: z
      .stringbool()
      .or(z.boolean())
      .default(false)
      .describe("Listen beyond loopback without an https base URL: tokens and terminals cross the network readable."),
    auth: z.enum(["on", "none"]).default("on").describe("`none` is for a trial on loopback only."),
    databaseUrl: z.string().min(1).optional().describe("PostgreSQL address. The embedded store when left out."),
    bodyLimitBytes: z
      .int()
      .min(1024)
      .max(64 * mebibyte)
      .default(mebibyte)
      .describe("Largest request, prompts included."),
    maxSessions: z.int().min(1).max(1_000).default(32).describe("Most sessions that live at once."),
    permissionAnswerMs: z
      .int()
      .min(0)
      .max(24 * 60 * minuteMs)
      .default(60 * minuteMs)
      .describe("How long an agent's question can be answered from afar before it waits in its own terminal only."),
    privatePrompts: z.stringbool().or(z.boolean()).default(false).describe("Keep prompts off command lines."),
    trustedProxies: z
      .array(z.string().refine(isNetworkEntry, "An IP address or a network such as 10.1.0.0/16 is needed."))
      .max(100)
      .default([])
      .describe("Addresses of proxies in front, whose word on a caller's address (X-Forwarded-For) counts."),
    oauth: z
      .strictObject({
        accessTokens: z
          .enum(["opaque", "jwt"])
          .default("opaque")
          .describe(
            "`jwt` (RFC 9068) for resource servers of your own; opaque ones can be revoked at once by themselves.",
          ),
        registration: z
          .enum(["on", "off"])
          .default("on")
          .describe("Whether clients may register themselves (RFC 7591)."),
        metadataDocuments: z
          .enum(["on", "off"])
          .default("on")
          .describe("Whether a client's id may be the address of its metadata document."),
      })
      .prefault({}),
    trustedIssuers: z
      .array(
        z.strictObject({
          issuer: z.url().describe("Its `iss`."),
          jwksUri: z.url().describe("Where its keys are."),
          audience: z.string().min(1).describe("What its tokens must be for."),
          algorithms: z
            .array(z.enum(["RS256", "PS256", "ES256", "ES384", "EdDSA"]))
            .min(1)
            .default(["RS256", "ES256", "EdDSA"]),
          accounts: z.record(z.string(), z.string()).describe("From a token's `sub` to the name of an account here."),
          scopes: z
            .array(scopeSchema.exclude(["admin"]))
            .min(1)
            .describe("What its tokens may at most."),
        }),
      )
      .max(20)
      .default([])
      .describe("Others whose JWT access tokens are taken (RFC 9068)."),
    allowPrivateAddresses: z
      .array(
        z.string().refine(isAddressEntry, "A host name, an IP address or a network such as 10.1.0.0/16 is needed."),
      )
      .max(100)
      .default([])
      .describe("Hosts, addresses and networks that webhooks may reach although they are private, also without TLS."),
    memory: z
      .strictObject({
        record: z
          .enum(["off", "close", "turn"])
          .default("close")
          .describe("When a session is remembered: never by itself, when it ends, or after each of its turns too."),
        extractor: z
          .discriminatedUnion("provider", [
            z.strictObject({
              provider: z.literal("openai-compatible"),
              baseUrl: modelAddressSchema.describe("Where it answers; `/chat/completions` is put behind it."),
              ...extractorModel,
            }),
            z.strictObject({
              provider: z.literal("anthropic"),
              baseUrl: modelAddressSchema.default("https://api.anthropic.com/v1"),
              ...extractorModel,
            }),
          ])
          .optional()
          .describe(
            "A model that finds more in what is remembered than the rules do. What is remembered is sent to it.",
          ),
      })
      .prefault({}),
    telegram: z
      .strictObject({
        allowedUserIds: z
          .array(z.int().positive())
          .min(1)
          .max(100)
          .describe("Whom the bot listens to, by Telegram's number of each person. All others get no answer."),
        scopes: z
          .array(z.enum(["coding:read", "coding:write", "coding:drive"]))
          .min(1)
          .default(["coding:read", "coding:write"])
          .describe("What may be done from chats. With coding:drive permissions are answered there, by buttons."),
        folders: z
          .array(z.string().min(1).max(4096))
          .min(1)
          .max(100)
          .optional()
          .describe("Limits chats to these directories, absolute paths."),
        tokenVariable: z
          .string()
          .regex(/^POSTERN_[A-Z0-9_]+$/)
          .default("POSTERN_TELEGRAM_TOKEN")
          .describe("The variable of the gateway that holds the bot's token; agents do not get it."),
        apiRoot: z
          .url({ protocol: /^https?$/ })
          .default("https://api.telegram.org")
          .describe("A Bot API server of one's own."),
      })
      .optional()
      .describe("A Telegram bot by which the owner reaches sessions."),
    logLevel: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    agents: z.array(customAgentSchema).default([]).describe("Agents beside the built-in ones."),
  })
  .meta({ id: "PosternConfig" });

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
export const processEnvironment: Environment = process.env;

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
  const fromEnvironment = {
    host: set("POSTERN_HOST"),
    port: toNumber(set("POSTERN_PORT")),
    baseUrl: set("POSTERN_BASE_URL"),
    insecureHttp: set("POSTERN_INSECURE_HTTP"),
    auth: set("POSTERN_AUTH"),
    databaseUrl: set("POSTERN_DATABASE_URL"),
    bodyLimitBytes: toNumber(set("POSTERN_BODY_LIMIT_BYTES")),
    maxSessions: toNumber(set("POSTERN_MAX_SESSIONS")),
    permissionAnswerMs: toNumber(set("POSTERN_PERMISSION_ANSWER_MS")),
    privatePrompts: set("POSTERN_PRIVATE_PROMPTS"),
    trustedProxies: toList(set("POSTERN_TRUSTED_PROXIES")),
    allowPrivateAddresses: toList(set("POSTERN_ALLOW_PRIVATE_ADDRESSES")),
    logLevel: set("POSTERN_LOG_LEVEL"),
  };
  const merged = { ...readConfigFile(home), ...given(fromEnvironment), ...given(overrides) };
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

/** What is no number stays a text, for the schema to refuse with the setting's name. */
function toNumber(text: string | undefined): number | string | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

function toList(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((item) => item.trim());
}

function readConfigFile(home: string): Record<string, unknown> {
  const path = join(home, "config.json");
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return {};
    throw new PosternError("invalid_configuration", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
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
  const words = issue?.message ?? error.message;
  return new PosternError(
    "invalid_configuration",
    `The setting "${setting}" does not fit: ${words}. It comes from ${join(home, "config.json")}, POSTERN_* or the command line.`,
  );
}
