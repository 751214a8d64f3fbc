import { spawn } from "node:child_process";

/** How a command ended. A command that could not be started, or that was ended for time or size, has `exitCode` null. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command gets; nothing of this process's environment is inherited beside `env`. */
export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After this time the command's process group is killed. */
  readonly timeoutMs: number;
  /** Each stream is cut here and the command is killed. 1 MiB by default. */
  readonly maxOutputBytes?: number;
}

/** Runs a program by argv, without a shell and with no input, and waits for its end. Never throws for what the command does. */
export function runCommand(argv: readonly [string, ...string[]], options: CommandOptions): Promise<CommandResult> {
  const maxBytes = options.maxOutputBytes ?? 1024 * 1024;
  const [program, ...args] = argv;
  return new Promise((resolve) => {
    // A group of its own, so that what it started ends with it.
    const child = spawn(program, args, {
      env: { ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const streams = { stdout: collect(maxBytes, kill), stderr: collect(maxBytes, kill) };
    child.stdout.on("data", streams.stdout.add);
    child.stderr.on("data", streams.stderr.add);
    let cutShort = false;
    function kill(): void {
      cutShort = true;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // the group ended by itself in this moment: nothing is left to kill
      }
    }
    const timer = setTimeout(kill, options.timeoutMs);
    function finish(exitCode: number | null): void {
      clearTimeout(timer);
      resolve({
        exitCode: cutShort ? null : exitCode,
        stdout: streams.stdout.text(),
        stderr: streams.stderr.text(),
      });
    }
    child.once("error", () => finish(null)); // not found, not executable: the caller sees it as null
    child.once("close", finish);
  });
}

function collect(maxBytes: number, overflow: () => void): { add(chunk: Buffer): void; text(): string } {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  return {
    add(chunk) {
      if (sizeBytes >= maxBytes) return;
      chunks.push(chunk.subarray(0, maxBytes - sizeBytes));
      sizeBytes += chunk.length;
      if (sizeBytes >= maxBytes) overflow();
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}
