import { z } from "zod";
import { customAgentSchema } from "../agents/index.ts";
import { isAddressEntry, isNetworkEntry } from "../platform/public-address.ts";
import { scopeSchema } from "../wire/access.ts";

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

/** The config file, `config.json` in the state folder. An unknown key is an error. `docs/reference/settings.md` is made from this. */
export const configFileSchema = z.strictObject({
  host: z.string().min(1).optional().describe("Address to listen on. 127.0.0.1 and ::1 when left out."),
  port: z.int().min(0).max(65_535).default(7177).describe("Port; 0 takes any free one."),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "The address that people use, when a proxy is in front. With https, browsers keep their sign-in for https alone.",
    ),
  insecureHttp: z
    .stringbool()
    .or(z.boolean())
    .default(false)
    .describe("Listen beyond loopback without an https base URL: tokens and terminals cross the network readable."),
  auth: z
    .enum(["on", "none"])
    .default("on")
    .describe("Whether callers must say who they are. `none` is for a trial on loopback, and refused elsewhere."),
  databaseUrl: z.string().min(1).optional().describe("PostgreSQL address. SQLite in the state folder when left out."),
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
    .describe("How long what an agent asks can be answered from afar; then only in its own terminal. 0: never."),
  privatePrompts: z
    .stringbool()
    .or(z.boolean())
    .default(false)
    .describe("Keep prompts and system prompts off command lines, which other users can read on some systems."),
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
        .describe("Whether clients may register themselves (RFC 7591). `postern client add` makes others known."),
      metadataDocuments: z
        .enum(["on", "off"])
        .default("on")
        .describe("Whether a client's id may be the address of its metadata document."),
    })
    .prefault({})
    .describe("The gateway as an authorization server for apps."),
  trustedIssuers: z
    .array(
      z.strictObject({
        issuer: z.url().describe("Its `iss`."),
        jwksUri: z.url().describe("Where its keys are."),
        audience: z.string().min(1).describe("What its tokens must be for."),
        algorithms: z
          .array(z.enum(["RS256", "PS256", "ES256", "ES384", "EdDSA"]))
          .min(1)
          .default(["RS256", "ES256", "EdDSA"])
          .describe("What it may sign with."),
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
    .array(z.string().refine(isAddressEntry, "A host name, an IP address or a network such as 10.1.0.0/16 is needed."))
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
            provider: z.literal("openai-compatible").describe("How it is spoken to."),
            baseUrl: modelAddressSchema.describe(
              "Where it answers; `/chat/completions` is put behind it. For `anthropic` https://api.anthropic.com/v1 when left out.",
            ),
            ...extractorModel,
          }),
          z.strictObject({
            provider: z.literal("anthropic").describe("How it is spoken to."),
            baseUrl: modelAddressSchema.default("https://api.anthropic.com/v1").describe("Where it answers."),
            ...extractorModel,
          }),
        ])
        .optional()
        .describe("A model that finds more in what is remembered than the rules do. What is remembered is sent to it."),
    })
    .prefault({})
    .describe("What is remembered of sessions."),
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
  logLevel: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("The least that the gateway writes to standard error, as JSON lines; for a terminal, as readable ones."),
  agents: z.array(customAgentSchema).default([]).describe("Agents beside the built-in ones."),
});

type Setting = keyof z.output<typeof configFileSchema>;

/** Where a setting comes from besides the config file. A `list` is separated by commas. */
export interface SettingSource {
  readonly variable: string;
  readonly form: "text" | "number" | "list";
  /** Of `postern serve`. */
  readonly option?: string;
}

/** Settings that have an environment variable. It wins over the config file, and an option over both. */
export const settingSources = {
  host: { variable: "POSTERN_HOST", form: "text", option: "--host" },
  port: { variable: "POSTERN_PORT", form: "number", option: "--port" },
  baseUrl: { variable: "POSTERN_BASE_URL", form: "text", option: "--base-url" },
  insecureHttp: { variable: "POSTERN_INSECURE_HTTP", form: "text", option: "--insecure-http" },
  auth: { variable: "POSTERN_AUTH", form: "text" },
  databaseUrl: { variable: "POSTERN_DATABASE_URL", form: "text" },
  bodyLimitBytes: { variable: "POSTERN_BODY_LIMIT_BYTES", form: "number" },
  maxSessions: { variable: "POSTERN_MAX_SESSIONS", form: "number" },
  permissionAnswerMs: { variable: "POSTERN_PERMISSION_ANSWER_MS", form: "number" },
  privatePrompts: { variable: "POSTERN_PRIVATE_PROMPTS", form: "text" },
  trustedProxies: { variable: "POSTERN_TRUSTED_PROXIES", form: "list" },
  allowPrivateAddresses: { variable: "POSTERN_ALLOW_PRIVATE_ADDRESSES", form: "list" },
  logLevel: { variable: "POSTERN_LOG_LEVEL", form: "text" },
} as const satisfies Partial<Record<Setting, SettingSource>>;

/** Variables that are no setting of the config file, each with what it is for. */
export const otherVariables: Readonly<Record<string, string>> = {
  POSTERN_HOME: "The state folder, with `config.json` in it. `~/.postern` when left out. No agent may work in it.",
  POSTERN_TOKEN: "The token with which commands act in place of the owner; `postern mcp` needs one.",
  POSTERN_TELEGRAM_TOKEN: "The Telegram bot's token, unless `telegram.tokenVariable` names another variable.",
  POSTERN_EXTRACTOR_API_KEY:
    "The key of the memory's model, unless `memory.extractor.apiKeyVariable` names another variable.",
};
