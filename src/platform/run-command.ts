import { spawn } from "node:child_process";
import { signalChildGroup } from "./processes.ts";

/** `exitCode` is null when the command could not be started, or was killed because it took too long or printed too much. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOutput {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly startError: Error | null;
}

/** Only `env` is passed; nothing is inherited. */
interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After this time the command's process group is killed. */
  readonly timeoutMs: number;
  /** Each stream is cut here and the command is killed. 1 MiB by default. */
  readonly maxOutputBytes?: number;
  /** Standard error is cut here instead, and the command continues. */
  readonly maxErrorBytes?: number;
  /** Its standard input; empty by default. */
  readonly input?: Buffer | string;
}

/** How long to wait for output that is still in the pipes after the program has ended. */
const drainMs = 2_000;

/** Runs a program by argv, without a shell, to its end. Never throws. */
export async function runCommand(
  argv: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<CommandResult> {
  const { exitCode, stdout, stderr } = await runForOutput(argv, options);
  return { exitCode, stdout: stdout.toString("utf8"), stderr: stderr.toString("utf8") };
}

/** Like {@link runCommand}, but returns bytes, and the error if the command could not be started. */
export function runForOutput(argv: readonly [string, ...string[]], options: CommandOptions): Promise<CommandOutput> {
  const maxBytes = options.maxOutputBytes ?? 1024 * 1024;
  const [program, ...args] = argv;
  return new Promise((resolve) => {
    // A separate group, so that its children are killed too.
    const child = spawn(program, args, {
      env: { ...options.env },
      stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      detached: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const out = collect(maxBytes, kill);
    const err = options.maxErrorBytes === undefined ? collect(maxBytes, kill) : collect(options.maxErrorBytes);
    child.stdout?.on("data", out.add);
    child.stderr?.on("data", err.add);
    child.stdin?.on("error", () => undefined); // it ended before reading all its input
    child.stdin?.end(options.input);
    let cutShort = false;
    function kill(): void {
      cutShort = true;
      signalChildGroup(child, "SIGKILL");
    }
    const timer = setTimeout(kill, options.timeoutMs);
    let drain: NodeJS.Timeout | undefined;
    function finish(exitCode: number | null, startError: Error | null): void {
      clearTimeout(timer);
      clearTimeout(drain);
      resolve({ exitCode: cutShort ? null : exitCode, stdout: out.bytes(), stderr: err.bytes(), startError });
    }
    child.once("error", (error) => finish(null, error)); // not found, not executable
    child.once("close", (exitCode) => finish(exitCode, null));
    child.once("exit", (exitCode) => {
      // A program left running in the background, such as a server that a hook started, can keep the pipes open.
      drain = setTimeout(() => {
        // After one more read, in case this process was busy. Then the output is discarded: a closed pipe could end the program.
        setImmediate(() => {
          child.stdout?.off("data", out.add).resume();
          child.stderr?.off("data", err.add).resume();
          finish(exitCode, null);
        });
      }, drainMs);
    });
  });
}

function collect(maxBytes: number, overflow?: () => void): { add(chunk: Buffer): void; bytes(): Buffer } {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  return {
    add(chunk) {
      if (sizeBytes >= maxBytes) return;
      chunks.push(chunk.subarray(0, maxBytes - sizeBytes));
      sizeBytes += chunk.length;
      if (sizeBytes >= maxBytes) overflow?.();
    },
    bytes: () => Buffer.concat(chunks),
  };
}
