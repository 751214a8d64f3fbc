import { spawn } from "@lydell/node-pty";
import headlessModule from "@xterm/headless";

/** How a command ended that was typed into a {@link TypedTerminal}. */
export interface TypedOutcome {
  readonly exitCode: number;
  /** Without the terminal's control sequences. */
  readonly output: string;
  readonly seconds: number;
}

/** Keys for a program that asks: pressed each time it shows `at`, or once. */
export interface Keys {
  readonly at: RegExp;
  readonly keys: string;
  readonly once?: true;
}

/** A terminal with a shell, into which a person types one command after the other. */
export interface TypedTerminal {
  /** Types it and waits until the shell is back. @throws Error with the output when that takes too long */
  type(command: string, keys?: Keys): Promise<TypedOutcome>;
  /** Types it and waits until it shows `until`; it keeps running. @throws Error with the output when it ends before, or takes too long */
  begin(command: string, until: RegExp): Promise<TypedOutcome>;
  /** Ends the shell and what runs in the terminal. Idempotent. */
  close(): Promise<void>;
}

/** No program prints it. */
const mark = "\u001e";
const size = { cols: 160, rows: 50 };
/** `npm ci` on a busy machine. */
const patienceMs = 600_000;

/** Starts `bash` by this argv, which may enter a container first. */
export async function openTerminal(
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): Promise<TypedTerminal> {
  const [file, ...args] = argv;
  const screen = new headlessModule.Terminal({ ...size, allowProposedApi: true });
  const pty = spawn(file, [...args], {
    ...size,
    name: "xterm-256color",
    cwd: "/",
    env: { ...env, PS1: `${mark}$?${mark}` },
  });
  let fresh = "";
  let isOpen = true;
  let onOutput = (): void => undefined;
  pty.onData((data) => {
    fresh += data;
    screen.write(data);
    onOutput();
  });
  // A real terminal answers queries.
  screen.onData((data) => pty.write(data));
  const closed = new Promise<void>((done) => {
    pty.onExit(() => {
      isOpen = false;
      onOutput();
      done();
    });
  });

  /** Looks at what has been printed since the last call that found something, until `find` returns something. */
  function until<T>(command: string, find: (printed: string) => T | null): Promise<T> {
    return new Promise((done, fail) => {
      const late = setTimeout(() => fail(new Error(`Not done: ${command}\n${plain(fresh)}`)), patienceMs);
      onOutput = () => {
        const found = find(fresh);
        if (found === null && isOpen) return;
        clearTimeout(late);
        onOutput = () => undefined;
        if (found === null) return fail(new Error(`The terminal ended with: ${command}\n${plain(fresh)}`));
        fresh = "";
        done(found);
      };
      onOutput();
    });
  }
  function prompt(printed: string): { readonly output: string; readonly exitCode: number } | null {
    const found = new RegExp(`${mark}(\\d+)${mark}`).exec(printed);
    return found === null ? null : { output: plain(printed.slice(0, found.index)), exitCode: Number(found[1]) };
  }
  async function timed(
    command: string,
    ends: Promise<{ readonly output: string; readonly exitCode: number }>,
  ): Promise<TypedOutcome> {
    const startedAt = performance.now();
    pty.write(`${command.replaceAll("\n", "\r")}\r`);
    const { output, exitCode } = await ends;
    const seconds = (performance.now() - startedAt) / 1000;
    return { output: withoutEcho(output, command), exitCode, seconds };
  }

  await until("the shell", prompt);
  return {
    type(command, keys) {
      let pressedAt = 0;
      const ends = until(command, (printed) => {
        const isAsked = keys?.at.test(printed.slice(pressedAt)) === true && !(keys.once && pressedAt > 0);
        if (keys !== undefined && isAsked) {
          pressedAt = printed.length;
          pty.write(keys.keys);
        }
        return prompt(printed);
      });
      return timed(command, ends);
    },
    begin(command, shown) {
      const ends = until(command, (printed) => {
        const ended = prompt(printed);
        if (ended !== null) return ended;
        return shown.test(printed) ? { output: plain(printed), exitCode: 0 } : null;
      });
      return timed(command, ends);
    },
    async close() {
      if (isOpen) pty.kill("SIGKILL");
      await closed;
      screen.dispose();
    },
  };
}

/** Without control sequences; of a line that was drawn over, the last state. */
function plain(output: string): string {
  return output
    .replaceAll(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g, "")
    .replaceAll("\r\n", "\n")
    .replaceAll(/^.*\r(?=[^\n])/gm, "")
    .replaceAll(/[\u2800-\u28ff]/g, "") // npm's spinner
    .replaceAll(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
}

/** The shell shows what is typed. */
function withoutEcho(output: string, command: string): string {
  return output.split("\n").slice(command.split("\n").length).join("\n").trim();
}
