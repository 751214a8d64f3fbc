import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** What one command did. */
export interface CommandOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A shell into which a document is typed, one command after the other: what one sets, the next has. */
export interface DocumentShell {
  /** Runs it to the end, with an empty standard input. @throws Error if it takes too long */
  type(command: string): Promise<CommandOutcome>;
  /** Ends the shell and what runs in it. Idempotent. */
  close(): Promise<void>;
}

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Longer than any command of the documentation takes on a busy machine. */
const patienceMs = 60_000;
/** No program prints it. */
const mark = "\u001e";

/** Starts the shell. */
export function startDocumentShell({ cwd, env }: Place): DocumentShell {
  // A separate group, so that nothing outlives it.
  const shell = spawn("sh", [], { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const gone = new Promise<void>((closed) => void shell.once("close", () => closed()));
  const output = { stdout: gather(shell.stdout), stderr: gather(shell.stderr) };
  return {
    async type(command) {
      shell.stdin.write(`{ ${command}\n} </dev/null\nprintf '${mark}%d${mark}' "$?"; printf '${mark}' >&2\n`);
      const late = new Promise<never>((_none, fail) => {
        const timer = setTimeout(
          () => fail(new Error(`Not done after ${patienceMs / 1000} s: ${command}`)),
          patienceMs,
        );
        void gone.then(() => fail(new Error(`The shell ended with: ${command}\n${output.stderr.rest()}`)));
        timer.unref();
      });
      const [stdout, code, stderr] = await Promise.race([
        Promise.all([output.stdout.until(mark), output.stdout.until(mark), output.stderr.until(mark)]),
        late,
      ]);
      return { exitCode: Number(code), stdout, stderr };
    },
    async close() {
      endGroup(shell);
      await gone;
    },
  };
}

function endGroup({ pid, exitCode, signalCode }: ChildProcessByStdio<Writable, Readable, Readable>): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
}

function gather(stream: Readable) {
  let text = "";
  const waiting: { readonly end: string; readonly take: (part: string) => void }[] = [];
  function serve(): void {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const at = text.indexOf(first.end);
      if (at < 0) return;
      waiting.shift();
      const part = text.slice(0, at);
      text = text.slice(at + first.end.length);
      first.take(part);
    }
  }
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    serve();
  });
  return {
    /** What comes before `end`, which is taken away too. */
    until: (end: string): Promise<string> =>
      new Promise((take) => {
        waiting.push({ end, take });
        serve();
      }),
    rest: () => text,
  };
}
