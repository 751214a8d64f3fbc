import type { Command } from "commander";
import { messageOf, PosternError } from "../core/errors.ts";
import { listOutputSchema } from "../wire/session-lists.ts";
import { connect, requireConfirmation, saysYes } from "./context.ts";
import { type CommonOptions, describe, exitCodes } from "./options.ts";
import { count, padTo, plainLine, printableJson, sizeText } from "./plain-text.ts";
import type { CliContext, MachineState } from "./ports.ts";

/** A gateway that takes longer is shown as not responding. */
const answerMs = 5_000;
/** The largest page of a session list. */
const pageSize = 200;

interface SessionCounts {
  readonly running: number;
  /** Running sessions that wait for a permission, an answer or a login. */
  readonly needYou: number;
}

/** `postern status` and `postern stop`. */
export function addGatewayCommands(program: Command, context: CliContext, onExit: (code: number) => void): void {
  describe(program.command("status"), ["postern status", "postern status --json"])
    .description("show the gateway, the terminal host, sessions, memory and the state folder")
    .action(async (options: CommonOptions) => onExit(await status(options, context)));
  describe(program.command("stop"), ["postern stop", "postern stop --all", "postern stop --all --yes"])
    .description("stop the gateway; agents keep running in the terminal host")
    .option("--all", "also end the agents and the terminal host")
    .option("--yes", "with --all, do not ask")
    .action((options: StopOptions) => stop(options, context));
}

async function status({ json }: CommonOptions, context: CliContext): Promise<number> {
  const state = await context.ports.machine();
  const asked = state.gateway === null ? null : await countSessions(context);
  const sessions = typeof asked === "string" ? null : asked;
  const problem = typeof asked === "string" ? asked : null;
  if (json) context.stdout(`${printableJson({ ...state, sessions, problem })}\n`);
  else context.stdout(`${statusText(state, { sessions, problem, now: context.clock.now() })}\n`);
  if (state.gateway === null) return exitCodes.noGateway;
  return problem === null ? exitCodes.ok : exitCodes.error;
}

/** Counts the sessions. Returns the problem as text if the gateway does not respond. */
async function countSessions(context: CliContext): Promise<SessionCounts | string> {
  const input = { status: "running", limit: pageSize } as const;
  const listed = connect(context)
    .then((gateway) => gateway.codingListSessions(input, { output: listOutputSchema }))
    .then(
      ({ sessions, total }) => ({
        running: total,
        needYou: sessions.filter(({ activity }) => activity?.startsWith("needs_")).length,
      }),
      (error: unknown) => messageOf(error),
    );
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const cancel = context.clock.after(answerMs, () => resolve(`It did not respond within ${answerMs / 1000} s.`));
  return Promise.race([listed, late]).finally(cancel);
}

function statusText(
  { gateway, terminalHost, memory, home, database }: MachineState,
  {
    sessions,
    problem,
    now,
  }: { readonly sessions: SessionCounts | null; readonly problem: string | null; readonly now: number },
): string {
  const { gatewayBytes, hostBytes, agentsBytes } = memory;
  const allBytes = gatewayBytes + hostBytes + agentsBytes;
  const up = gateway === null ? "" : `up ${timeText(now - Date.parse(gateway.startedAt))}`;
  const rows: readonly (readonly [string, string])[] = [
    ...(gateway === null
      ? [["Gateway", "not running. Start it with `postern serve`."] as const]
      : [
          ["Gateway", `running at ${gateway.baseUrl} (version ${gateway.version}, pid ${gateway.pid}, ${up})`] as const,
          ["Listening on", gateway.addresses.join(", ")] as const,
        ]),
    ...(problem === null ? [] : [["Problem", `${plainLine(problem)} Check with \`postern doctor\`.`] as const]),
    ["Terminal host", hostText(terminalHost)],
    ...(sessions === null ? [] : [["Sessions", sessionsText(sessions)] as const]),
    ...(allBytes === 0
      ? []
      : [
          [
            "Memory",
            `${sizeText(allBytes)} (gateway ${sizeText(gatewayBytes)}, terminal host ${sizeText(hostBytes)}, agents ${sizeText(agentsBytes)})`,
          ] as const,
        ]),
    ["State", home],
    ["Database", database],
  ];
  const columns = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, text]) => `${padTo(name, columns)}${plainLine(text)}`).join("\n");
}

function hostText(host: MachineState["terminalHost"]): string {
  if (host === null) return "not running. The gateway starts it.";
  if ("problem" in host) return host.problem;
  return `running with ${count(host.liveTerminals, "terminal")} (version ${host.version}, pid ${host.pid})`;
}

function sessionsText({ running, needYou }: SessionCounts): string {
  const needs = needYou === 1 ? "1 needs you" : `${needYou} need you`;
  return needYou === 0 ? `${running} running` : `${running} running, ${needs}. List them with \`postern coding list\`.`;
}

const steps = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "min", ms: 60_000 },
  { unit: "s", ms: 1_000 },
] as const;

/** `3 h 12 min`: the largest unit and the next. */
function timeText(ms: number): string {
  const first = steps.findIndex((step) => ms >= step.ms);
  if (first === -1) return "0 s";
  let left = ms;
  const parts = steps.slice(first, first + 2).map(({ unit, ms: length }) => {
    const number = Math.floor(left / length);
    left -= number * length;
    return `${number} ${unit}`;
  });
  return parts.filter((part) => !part.startsWith("0 ")).join(" ");
}

interface StopOptions extends CommonOptions {
  readonly all?: true;
  readonly yes?: true;
}

async function stop({ all, yes, json }: StopOptions, context: CliContext): Promise<void> {
  const before = await context.ports.machine();
  const { gateway } = before;
  const terminals = liveTerminals(before);
  if (all && terminals > 0 && !yes) {
    requireConfirmation({ ...(json && { json }) }, context);
    context.stderr(`${count(terminals, "agent")} will end. You can resume their sessions later. Continue? [y/N] `);
    if (!(await saysYes(context.stdin))) return context.stderr("Nothing was stopped.\n");
  }
  const stopped = gateway === null ? null : await context.ports.stopGateway();
  const hostEnded = all && before.terminalHost !== null ? await context.ports.endTerminals() : null;
  if (hostEnded === false) {
    throw new PosternError(
      "internal_error",
      "The terminal host did not exit within 10 s. Run `postern stop --all` again.",
    );
  }
  if (json) {
    const ended = all ? terminals : 0;
    return context.stdout(`${printableJson({ gateway: stopped, terminalHost: hostEnded === true, agents: ended })}\n`);
  }
  const service = stopped?.service ?? null;
  const lines = [
    stopped === null ? "No gateway is running." : `Stopped the gateway (pid ${stopped.pid}).`,
    ...(service === null
      ? []
      : [
          `The service stopped it (\`${service}\`) and starts it at your next login. To prevent that: postern service uninstall`,
        ]),
    ...(hostEnded ? [`Ended the terminal host${terminals === 0 ? "" : ` and ${count(terminals, "agent")}`}.`] : []),
    ...(!all && terminals > 0
      ? [
          `${count(terminals, "agent")} ${terminals === 1 ? "keeps" : "keep"} running. To end ${terminals === 1 ? "it" : "them"}: postern stop --all`,
        ]
      : []),
  ];
  context.stdout(`${lines.join("\n")}\n`);
}

function liveTerminals({ terminalHost }: MachineState): number {
  return terminalHost !== null && "liveTerminals" in terminalHost ? terminalHost.liveTerminals : 0;
}
