import { spawn } from "node:child_process";
import { signalChildGroup } from "./processes.ts";

/** How a command ended. A command that could not be started, or that was ended for time or size, has `exitCode` null. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The same, byte for byte, and why it could not be started. */
export interface CommandOutput {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly startError: Error | null;
}

/** What a command gets; nothing of this process's environment is inherited beside `env`. */
export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After this time the command's process group is killed. */
  readonly timeoutMs: number;
  /** Each stream is cut here and the command is killed. 1 MiB by default. */
  readonly maxOutputBytes?: number;
  /** Standard error is cut here instead, and the command goes on. */
  readonly maxErrorBytes?: number;
  /** Its standard input; empty by default. */
  readonly input?: Buffer | string;
}

/** Runs a program by argv, without a shell, and waits for its end. Never throws for what the command does. */
export async function runCommand(
  argv: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<CommandResult> {
  const { exitCode, stdout, stderr } = await runForOutput(argv, options);
  return { exitCode, stdout: stdout.toString("utf8"), stderr: stderr.toString("utf8") };
}

/** The same, byte for byte. */
export function runForOutput(argv: readonly [string, ...string[]], options: CommandOptions): Promise<CommandOutput> {
  const maxBytes = options.maxOutputBytes ?? 1024 * 1024;
  const [program, ...args] = argv;
  return new Promise((resolve) => {
    // A group of its own, so that what it started ends with it.
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
    child.stdin?.on("error", () => undefined); // it ended before it had read all: its exit code says why
    child.stdin?.end(options.input);
    let cutShort = false;
    function kill(): void {
      cutShort = true;
      signalChildGroup(child, "SIGKILL");
    }
    const timer = setTimeout(kill, options.timeoutMs);
    function finish(exitCode: number | null, startError: Error | null): void {
      clearTimeout(timer);
      resolve({ exitCode: cutShort ? null : exitCode, stdout: out.bytes(), stderr: err.bytes(), startError });
    }
    child.once("error", (error) => finish(null, error)); // not found, not executable
    child.once("close", (exitCode) => finish(exitCode, null));
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
