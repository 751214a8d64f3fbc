import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { minutesUntil } from "./login-link-command.ts";
import { type CommonOptions, describe, wholeNumber } from "./options.ts";
import { printableJson } from "./plain-text.ts";
import type { CliContext, GatewayOverrides, RunningGateway } from "./ports.ts";

/** Longer than open requests get to finish. What has not ended by then is cut off. */
const closeTimeoutMs = 10_000;

interface ServeOptions extends GatewayOverrides, CommonOptions {
  readonly endAgents?: true;
  readonly check?: true;
}

/** `postern serve`: runs the gateway in this process until a signal. */
export function addServeCommand(program: Command, context: CliContext): void {
  describe(program.command("serve"), [
    "postern serve",
    "postern serve --port 8080 --base-url https://postern.example.org",
  ])
    .description("run the gateway until SIGINT or SIGTERM; agents keep running without it")
    .option("--host <address>", "listen on this address (default: 127.0.0.1 and ::1)")
    .option("--port <port>", "listen on this port (default: 7177)", wholeNumber(0, 65_535))
    .option("--base-url <url>", "the public address, when the gateway is behind a proxy")
    .option("--insecure-http", "listen beyond loopback without https: others on the network can read the traffic")
    .option("--end-agents", "also stop agents and terminals when the gateway stops; for containers")
    .option("--check", "check these settings without starting the gateway")
    .action((options: ServeOptions) => serve(options, context));
}

async function serve({ json, endAgents, check, ...overrides }: ServeOptions, context: CliContext): Promise<void> {
  if (check) {
    const { baseUrl } = await context.ports.checkSettings(overrides);
    return context.stdout(
      json ? `${printableJson({ baseUrl })}\n` : `These settings are valid. The gateway would run at ${baseUrl}.\n`,
    );
  }
  // Before the start: a signal during it must not leave half a gateway.
  const stop = listenForStop();
  try {
    const gateway = await context.ports.startGateway(overrides);
    context.stdout(await greeting(gateway, { json: json === true, context }));
    const signal = await stop.signal;
    const fate = endAgents
      ? "Agents are stopped; you can resume their sessions after the next start."
      : "Agents keep running in the terminal host; `postern serve` reattaches to them.";
    context.stderr(`${signal}: stopping the gateway. ${fate}\n`);
    await stopGateway(gateway, { endAgents: endAgents === true });
  } finally {
    stop.ignore();
  }
}

/** Stops it; its agents end in good order also when it is cut off. */
export async function stopGateway(
  gateway: Pick<RunningGateway, "close" | "endTerminals">,
  { endAgents }: { readonly endAgents: boolean },
): Promise<void> {
  try {
    await closeWithin(gateway);
  } finally {
    if (endAgents) await gateway.endTerminals();
  }
}

/** What `postern serve` says first. A link signs in anyone who reads it first: without a person to read it, it is not for a log. */
export async function greeting(
  gateway: RunningGateway,
  { json, context }: { readonly json: boolean; readonly context: Pick<CliContext, "clock" | "interactive"> },
): Promise<string> {
  const { addresses, authRequired, baseUrl } = gateway;
  const signIn = authRequired && (json || context.interactive) ? await gateway.createSignInLink() : null;
  if (json) return `${printableJson({ baseUrl, addresses, signIn })}\n`;
  const lines = [
    `Postern is running at ${baseUrl} (listening on ${addresses.join(", ")}). API reference: ${baseUrl}/docs`,
  ];
  if (!authRequired) {
    lines.push("POSTERN_AUTH=none: every program and user on this machine can act as you. Use this only for a trial.");
  } else {
    lines.push(
      signIn === null
        ? "To sign in a browser: postern login-link"
        : `Sign in (single use, expires in ${minutesUntil(signIn.expiresAt, context.clock)} minutes): ${signIn.url}`,
      "To create a token for a program: postern token create --name me --scopes coding:read,coding:write",
    );
  }
  return `${lines.join("\n")}\n`;
}

/** The first signal to stop. After it, or when it is not waited for any more, a signal ends the process in the system's own way. */
function listenForStop(): { readonly signal: Promise<NodeJS.Signals>; ignore(): void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const ignore = (): void => {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    ignore();
    resolve(signal);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return { signal: promise, ignore };
}

async function closeWithin(gateway: Pick<RunningGateway, "close">): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new PosternError(
      "internal_error",
      `The gateway did not stop within ${closeTimeoutMs / 1000} s and was killed.`,
    );
    timer = setTimeout(() => reject(error), closeTimeoutMs);
  });
  try {
    await Promise.race([gateway.close(), late]);
  } finally {
    clearTimeout(timer);
  }
}
