import type { CliContext, CliPorts } from "../../src/cli/ports.ts";
import { runCli } from "../../src/cli/program.ts";
import { systemClock } from "../../src/core/clock.ts";

/** What one run of the command left behind. */
export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A test provides the ports that its command can use; a use of any other fails the test. */
export function onlyPorts(ports: Partial<CliPorts>): CliPorts {
  const unexpected = (name: string) => (): never => {
    throw new Error(`This command should not need ${name}.`);
  };
  return {
    startGateway: unexpected("startGateway"),
    checkSettings: unexpected("checkSettings"),
    openStores: unexpected("openStores"),
    socketPath: unexpected("socketPath"),
    diagnose: unexpected("diagnose"),
    service: unexpected("service"),
    machine: unexpected("machine"),
    stopGateway: unexpected("stopGateway"),
    endTerminals: unexpected("endTerminals"),
    installedParts: unexpected("installedParts"),
    runProgram: unexpected("runProgram"),
    token: unexpected("token"),
    backUp: unexpected("backUp"),
    restore: unexpected("restore"),
    ...ports,
  };
}

/** Runs the command in this process. */
export async function runCommand(
  argv: readonly string[],
  options: { readonly ports?: Partial<CliPorts> } & Partial<Omit<CliContext, "ports">> = {},
): Promise<CliRun> {
  const { ports = {}, ...world } = options;
  let stdout = "";
  let stderr = "";
  const code = await runCli(argv, {
    version: "0.0.0-test",
    ports: onlyPorts(ports),
    stdout: (text) => void (stdout += text),
    stdoutTaken: async () => undefined,
    stderr: (text) => void (stderr += text),
    stdin: (async function* () {})(),
    columns: null,
    interactive: false,
    terminal: () => null,
    cwd: "/srv/code",
    clock: systemClock,
    ...world,
  });
  return { code, stdout, stderr };
}
