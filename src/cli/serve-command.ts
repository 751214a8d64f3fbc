import type { Command } from "commander";
import { hasCode, PosternError } from "../core/errors.ts";
import { meSchema, type SignInLink } from "../wire/sign-in.ts";
import { minutesUntil } from "./account-command.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe, exitCodes, wholeNumber } from "./options.ts";
import { count, plainLine, printableJson } from "./plain-text.ts";
import type { CliContext, GatewayOverrides, RunningGateway } from "./ports.ts";
import { boxed, qrCode } from "./sign-in-box.ts";

/** Longer than the time that open requests have to finish. */
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
  // Registered before the start, so that signals during it are handled too.
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

/** Stops the gateway, then ends the agents if asked to, even when the gateway does not stop in time. */
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

/**
 * What `postern serve` prints, the sign-in link last. A link does not belong in a log: it is printed for a person or with `--json`
 * only.
 */
export async function greeting(
  gateway: RunningGateway,
  {
    json,
    context,
  }: { readonly json: boolean; readonly context: Pick<CliContext, "clock" | "interactive" | "columns"> },
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
    lines.push("To create a token for a program: postern token create --name me --scopes coding:read,coding:write");
    if (signIn === null) lines.push("To sign in a browser: postern login-link");
    else lines.push(...(await invitation(signIn, { gateway, context })));
  }
  return `${lines.join("\n")}\n`;
}

/** The link in a box, after a QR code if a phone can use it. */
async function invitation(
  { url, expiresAt }: SignInLink,
  { gateway, context }: { readonly gateway: RunningGateway; readonly context: Pick<CliContext, "clock" | "columns"> },
): Promise<readonly string[]> {
  const code = gateway.isReachableFromOutside ? await qrCode(url, context.columns) : null;
  const words = `Sign in (single use, expires in ${minutesUntil(expiresAt, context.clock)} minutes):`;
  return [
    ...(code === null ? [] : ["", "To sign in on a phone, scan:", code]),
    "",
    boxed([words, url], context.columns),
  ];
}

/** Waits for the first signal to stop. A second one ends the process immediately. */
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

interface InstallOptions extends CommonOptions {
  readonly dryRun?: true;
  readonly keys?: true;
}

/** `postern service`: the gateway as a service of this user, by systemd or launchd. */
export function addServiceCommands(program: Command, context: CliContext, onExit: (code: number) => void): void {
  const group = program
    .command("service")
    .description("run the gateway as a service: systemd on Linux, launchd on macOS");
  describe(group.command("install"), [
    "postern service install",
    "postern service install --dry-run",
    "postern service install --keys",
  ])
    .description("install the gateway as a service and start it; run again after an upgrade")
    .option("--dry-run", "print the service file without installing it")
    .option(
      "--keys",
      "save the agents' API keys from this shell's environment in the service's environment file (mode 0600)",
    )
    .action((options: InstallOptions) => install(options, context));
  describe(group.command("uninstall"), ["postern service uninstall"])
    .description("stop and uninstall the service; agents keep running")
    .action((options: CommonOptions) => uninstall(options, context));
  describe(
    group.command("status"),
    ["postern service status", "postern service status --json"],
    "the service is not running",
  )
    .description("show whether the service is installed, enabled and running, and its version")
    .action(async (options: CommonOptions) => onExit(await status(options, context)));
}

async function install({ json, dryRun, keys }: InstallOptions, context: CliContext): Promise<void> {
  const service = await context.ports.service();
  const { path, text, environmentFile } = service;
  if (dryRun) return context.stdout(json ? `${printableJson({ path, text, environmentFile })}\n` : text);
  await service.requireManager();
  const kept = keys ? await service.keepKeys() : [];
  const before = await runningVersion(context);
  const restart = before !== null && before !== service.version;
  const { changed, hints } = await service.install({ restart });
  if (json) return context.stdout(`${printableJson({ path, changed, environmentFile, keys: kept, hints })}\n`);
  const lines = [
    ...(restart ? [`Replaced version ${before} with ${service.version}. Agents keep running.`] : []),
    changed ? `Installed ${path}. The gateway is running.` : `${path} is up to date. The gateway is running.`,
    ...(kept.length > 0 ? [`Kept in ${environmentFile}: ${kept.join(", ")}.`] : []),
    ...hints,
    "To sign in a browser: postern login-link",
  ];
  context.stdout(`${lines.join("\n")}\n`);
}

async function uninstall({ json }: CommonOptions, context: CliContext): Promise<void> {
  const service = await context.ports.service();
  await service.requireManager();
  const { removed } = await service.uninstall();
  if (json) return context.stdout(`${printableJson({ path: service.path, removed })}\n`);
  const words = removed ? `Removed ${service.path}. Agents keep running.` : "No service was installed.";
  context.stdout(`${words}\n`);
}

async function status({ json }: CommonOptions, context: CliContext): Promise<number> {
  const service = await context.ports.service();
  await service.requireManager();
  const state = await service.status();
  const version = await runningVersion(context);
  const { version: installedVersion } = service;
  if (json) context.stdout(`${printableJson({ ...state, version, installedVersion })}\n`);
  else {
    const runs = state.running
      ? `runs (pid ${state.pid ?? "unknown"}${version === null ? "" : `, version ${version}`})`
      : "not running";
    const starts = state.enabled ? "enabled" : "not enabled";
    const words = state.installed
      ? `${state.path}: ${runs}, ${starts}.`
      : "No service is installed. To install it: postern service install";
    context.stdout(`${words}\n`);
    if (version !== null && version !== installedVersion) {
      const fix = state.installed ? "postern service install" : "stop it, then postern serve";
      context.stdout(
        `Version ${installedVersion} is installed, but ${version} is running. To switch: ${fix} (agents keep running).\n`,
      );
    }
  }
  return state.running ? exitCodes.ok : exitCodes.error;
}

/** Null when no gateway answers. */
async function runningVersion(context: CliContext): Promise<string | null> {
  try {
    return (await (await connect(context)).getMe({}, { output: meSchema })).gateway.version;
  } catch (error) {
    if (hasCode(error, "gateway_not_running")) return null;
    throw error;
  }
}

const signs = { ok: "ok     ", warning: "warning", failure: "failure" } as const;

/** `postern doctor`. */
export function addDoctorCommand(program: Command, context: CliContext, onExit: (code: number) => void): void {
  describe(
    program.command("doctor"),
    ["postern doctor", "postern doctor --smoke", "postern doctor --json"],
    "a check failed",
  )
    .description("diagnose problems and suggest fixes; changes nothing")
    .option("--smoke", "also start each configured agent once, without a prompt")
    .action(async (options: CommonOptions & { readonly smoke?: true }) => {
      const findings = await context.ports.diagnose({ smoke: options.smoke === true });
      const failures = findings.filter(({ level }) => level === "failure").length;
      onExit(failures === 0 ? exitCodes.ok : exitCodes.error);
      if (options.json) return context.stdout(`${printableJson({ ok: failures === 0, findings })}\n`);
      const lines = findings.flatMap(({ check, level, message, fix }) => {
        const line = `${signs[level]}  ${plainLine(check)}: ${plainLine(message)}`;
        return fix === null ? [line] : [line, `         fix: ${plainLine(fix)}`];
      });
      const warnings = findings.filter(({ level }) => level === "warning").length;
      const sum =
        failures + warnings === 0
          ? "No problems found."
          : `${count(failures, "failure")}, ${count(warnings, "warning")}.`;
      context.stdout(`${[...lines, "", sum].join("\n")}\n`);
    });
}
