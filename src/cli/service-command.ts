import type { Command } from "commander";
import { hasCode } from "../core/errors.ts";
import { meSchema } from "../wire/sign-in.ts";
import { send } from "./context.ts";
import { exitCodes } from "./exit-code.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface InstallOptions extends CommonOptions {
  readonly dryRun?: true;
  readonly keys?: true;
}

/** `postern service`: the gateway as a service of this user, by systemd or launchd. */
export function addServiceCommands(program: Command, context: CliContext, onExit: (code: number) => void): void {
  const group = program.command("service").description("keep the gateway running: systemd on Linux, launchd on macOS");
  describe(group.command("install"), [
    "postern service install",
    "postern service install --dry-run",
    "postern service install --keys",
  ])
    .description("install the gateway as a service and start it; run again after an upgrade")
    .option("--dry-run", "print the file without installing it")
    .option("--keys", "keep the agents' key variables of this shell in the service's environment file (0600)")
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
    return (await send(context, { method: "GET", path: "/api/me" }, meSchema)).gateway.version;
  } catch (error) {
    if (hasCode(error, "gateway_not_running")) return null;
    throw error;
  }
}

const signs = { ok: "ok     ", warning: "warning", failure: "failure" } as const;

/** `postern doctor`: looks at everything that Postern needs, and suggests fixes. Ends with 1 when something fails. */
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
