import { z } from "zod";
import { customAgentSchema } from "../agents/index.ts";
import { isAddressEntry, isNetworkEntry } from "../platform/guarded-fetch.ts";
import { scopeSchema } from "../wire/access.ts";

const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/** Without credentials, which would appear in messages. */
const modelAddressSchema = z
  .url({ protocol: /^https?$/ })
  .refine((address) => /^[^?#@]*$/.test(address), "Use an address without credentials or query.");

const unitMs = { s: 1_000, m: minuteMs, h: 60 * minuteMs, d: 24 * 60 * minuteMs } as const;

/** `12h`, in milliseconds; null for `0` and `off`. */
const idleTimeoutSchema = z
  .union([
    z.literal([0, "0", "off"]),
    z.string().regex(/^[1-9]\d{0,5}[smhd]$/, "Use a number with s, m, h or d, such as 12h, or off."),
  ])
  .transform((text) => {
    const [, number, unit] = /^(\d+)([smhd])$/.exec(String(text)) ?? [];
    return unit === "s" || unit === "m" || unit === "h" || unit === "d" ? Number(number) * unitMs[unit] : null;
  });

const extractorModel = {
  model: z.string().min(1).max(100).describe("The provider's name for the model."),
  apiKeyVariable: z
    .string()
    .regex(/^POSTERN_[A-Z0-9_]+$/)
    .optional()
    .describe(
      "Name of the environment variable with the key. Agents do not get it. Default: POSTERN_EXTRACTOR_API_KEY, which can be empty for a server without keys.",
    ),
};

/** The config file, `config.json` in the state folder. Unknown keys are errors. Source of `docs/reference/settings.md`. */
export const configFileSchema = z.strictObject({
  host: z.string().min(1).optional().describe("Address to listen on. Default: 127.0.0.1 and ::1."),
  port: z.int().min(0).max(65_535).default(7177).describe("Port to listen on; 0 picks a free one."),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "The public address, when the gateway is behind a proxy. If it is https, browsers send their sign-in cookie only over https.",
    ),
  insecureHttp: z
    .stringbool()
    .or(z.boolean())
    .default(false)
    .describe("Listen beyond loopback without an https base URL. Others on the network can read tokens and terminals."),
  auth: z
    .enum(["on", "none"])
    .default("on")
    .describe("Whether callers must authenticate. `none` is for trials, on loopback only."),
  databaseUrl: z.string().min(1).optional().describe("PostgreSQL address. Default: SQLite in the state folder."),
  bodyLimitBytes: z
    .int()
    .min(1024)
    .max(64 * mebibyte)
    .default(mebibyte)
    .describe("Largest request, including prompts."),
  maxSessions: z.int().min(1).max(1_000).default(32).describe("Maximum number of running sessions."),
  permissionAnswerMs: z
    .int()
    .min(0)
    .max(24 * 60 * minuteMs)
    .default(60 * minuteMs)
    .describe("How long permission requests can be answered outside the agent's terminal. 0: never."),
  idleTimeout: idleTimeoutSchema
    .prefault("12h")
    .describe(
      "How long an agent can be idle (no turn, viewer, queued prompt or background task) before it is ended, such as `12h` or `90m`. Its session can be resumed. `0` or `off`: never.",
    ),
  privatePrompts: z
    .stringbool()
    .or(z.boolean())
    .default(false)
    .describe("Keep prompts and system prompts off command lines, which other users can read on some systems."),
  trustedProxies: z
    .array(z.string().refine(isNetworkEntry, "Use an IP address or a network such as 10.1.0.0/16."))
    .max(100)
    .default([])
    .describe("Addresses of proxies whose X-Forwarded-For header is trusted."),
  oauth: z
    .strictObject({
      accessTokens: z
        .enum(["opaque", "jwt"])
        .default("opaque")
        .describe(
          "Token format. `jwt` (RFC 9068) is for your own resource servers. Opaque tokens can be revoked individually and immediately.",
        ),
      registration: z
        .enum(["on", "off"])
        .default("on")
        .describe("Whether clients can register themselves (RFC 7591). Add others with `postern client add`."),
      metadataDocuments: z
        .enum(["on", "off"])
        .default("on")
        .describe("Whether a client's ID can be the URL of its metadata document."),
    })
    .prefault({})
    .describe("Settings of the OAuth authorization server for apps."),
  trustedIssuers: z
    .array(
      z.strictObject({
        issuer: z.url().describe("The `iss` claim of the issuer's tokens."),
        jwksUri: z.url().describe("The URL of the issuer's keys."),
        audience: z.string().min(1).describe("The required audience of the issuer's tokens."),
        algorithms: z
          .array(z.enum(["RS256", "PS256", "ES256", "ES384", "EdDSA"]))
          .min(1)
          .default(["RS256", "ES256", "EdDSA"])
          .describe("Accepted signature algorithms."),
        accounts: z.record(z.string(), z.string()).describe("Maps a token's `sub` to the name of an account."),
        scopes: z
          .array(scopeSchema.exclude(["admin"]))
          .min(1)
          .describe("The maximum scopes of the issuer's tokens."),
      }),
    )
    .max(20)
    .default([])
    .describe("Other issuers whose JWT access tokens are accepted (RFC 9068)."),
  allowPrivateAddresses: z
    .array(z.string().refine(isAddressEntry, "Use a host name, an IP address or a network such as 10.1.0.0/16."))
    .max(100)
    .default([])
    .describe("Private hosts, addresses and networks that webhooks can reach, with or without TLS."),
  memory: z
    .strictObject({
      record: z
        .enum(["off", "close", "turn"])
        .default("close")
        .describe("When sessions are saved to memory: never automatically, when they end, or also after each turn."),
      extractor: z
        .discriminatedUnion("provider", [
          z.strictObject({
            provider: z.literal("openai-compatible").describe("The API of the provider."),
            baseUrl: modelAddressSchema.describe(
              "Base URL, without `/chat/completions`. Default for `anthropic`: https://api.anthropic.com/v1.",
            ),
            ...extractorModel,
          }),
          z.strictObject({
            provider: z.literal("anthropic").describe("The API of the provider."),
            baseUrl: modelAddressSchema.default("https://api.anthropic.com/v1").describe("Base URL."),
            ...extractorModel,
          }),
        ])
        .optional()
        .describe("A model that extracts more facts than the built-in rules. Memory entries are sent to it."),
    })
    .prefault({})
    .describe("Memory settings."),
  telegram: z
    .strictObject({
      allowedUserIds: z
        .array(z.int().positive())
        .min(1)
        .max(100)
        .describe("Telegram user IDs that the bot answers. It ignores everyone else."),
      scopes: z
        .array(z.enum(["coding:read", "coding:write", "coding:drive"]))
        .min(1)
        .default(["coding:read", "coding:write"])
        .describe("Scopes of chats. With coding:drive, permission requests can be answered with buttons."),
      folders: z
        .array(z.string().min(1).max(4096))
        .min(1)
        .max(100)
        .optional()
        .describe("Limits chats to these directories (absolute paths)."),
      tokenVariable: z
        .string()
        .regex(/^POSTERN_[A-Z0-9_]+$/)
        .default("POSTERN_TELEGRAM_TOKEN")
        .describe("Name of the environment variable with the bot's token. Agents do not get it."),
      apiRoot: z
        .url({ protocol: /^https?$/ })
        .default("https://api.telegram.org")
        .describe("Address of your own Bot API server."),
    })
    .optional()
    .describe("A Telegram bot for the owner."),
  logLevel: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Log level. The gateway logs to standard error, as JSON lines or, in a terminal, as readable text."),
  agents: z.array(customAgentSchema).default([]).describe("Additional agents."),
});

type Setting = keyof z.output<typeof configFileSchema>;

/** Where a setting comes from besides the config file. A `list` is comma-separated. */
export interface SettingSource {
  readonly variable: string;
  readonly form: "text" | "number" | "list";
  /** Of `postern serve`. */
  readonly option?: string;
}

/** Settings with an environment variable, which overrides the config file; an option overrides both. */
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
  idleTimeout: { variable: "POSTERN_IDLE_TIMEOUT", form: "text" },
  privatePrompts: { variable: "POSTERN_PRIVATE_PROMPTS", form: "text" },
  trustedProxies: { variable: "POSTERN_TRUSTED_PROXIES", form: "list" },
  allowPrivateAddresses: { variable: "POSTERN_ALLOW_PRIVATE_ADDRESSES", form: "list" },
  logLevel: { variable: "POSTERN_LOG_LEVEL", form: "text" },
} as const satisfies Partial<Record<Setting, SettingSource>>;

/** Environment variables without a setting in the config file. */
export const otherVariables: Readonly<Record<string, string>> = {
  POSTERN_HOME: "The state folder, which contains `config.json`. Default: `~/.postern`. Agents cannot work in it.",
  POSTERN_TOKEN: "Commands use this token instead of acting as the owner. Required by `postern mcp`.",
  POSTERN_TELEGRAM_TOKEN: "The Telegram bot's token, unless `telegram.tokenVariable` names another variable.",
  POSTERN_EXTRACTOR_API_KEY:
    "API key of the memory's model, unless `memory.extractor.apiKeyVariable` names another variable.",
};
