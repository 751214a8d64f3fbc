import { readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import serializeModule from "@xterm/addon-serialize";
import headlessModule from "@xterm/headless";
import { expect } from "vitest";
import { makeTestFolder } from "./test-folder.ts";
import { withBundles } from "./with-bundles.ts";

/** How a command in a {@link ShellTerminal} ended. */
export interface ShellEnd {
  /** As the shell has it: 128 + the signal's number after a signal. */
  readonly code: number;
  /** The terminal's own settings (`stty -g`) before the command and after it. */
  readonly before: string;
  readonly after: string;
}

/** A user's terminal, a real pseudo-terminal, in which a shell runs `postern` once and then waits. */
export interface ShellTerminal {
  /** The visible rows. */
  screen(): string;
  /** The terminal's content and modes, for comparisons. */
  picture(): { readonly modes: object; readonly alternate: boolean; readonly cursorHidden: boolean };
  /** All output of the command and the shell. */
  output(): string;
  write(data: string | Buffer): void;
  resize(cols: number, rows: number): void;
  /** The command's own process, when it has begun. */
  commandPid(): Promise<number>;
  ended(): Promise<ShellEnd>;
  /** Ends the shell and what runs in it. Idempotent. */
  close(): Promise<void>;
}

const ownBin = resolve(import.meta.dirname, "../../bin/postern.js");
// The command replaces a child of the shell, so that its pid is known.
const script = `stty -g >"$0/before"; echo "shell says hello"
(echo "$(exec sh -c 'echo $PPID')" >"$0/pid"; exec "$@"); code=$?
stty -g >"$0/after"; echo "$code" >"$0/code"; echo "shell goes on"; exec cat`;

/** Starts `postern <argv>` in a terminal of this size. */
export async function startInShell(
  argv: readonly string[],
  options: { readonly env: Readonly<Record<string, string>>; readonly cols?: number; readonly rows?: number },
): Promise<ShellTerminal> {
  const { env, cols = 80, rows = 24 } = options;
  const folder = makeTestFolder("shell");
  const terminal = new headlessModule.Terminal({ cols, rows, scrollback: 1_000, allowProposedApi: true });
  terminal.loadAddon(new serializeModule.SerializeAddon());
  let output = "";
  let cursorHidden = false;
  const pty = spawn("/bin/sh", ["-c", script, folder, process.execPath, ...withBundles, ownBin, ...argv], {
    name: "xterm-256color",
    cols,
    rows,
    cwd: folder,
    env: { TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
  });
  pty.onData((data) => {
    output += data;
    terminal.write(data);
    const shown = /\x1b\[\?25([hl])(?!.*\x1b\[\?25[hl])/s.exec(data)?.[1];
    if (shown !== undefined) cursorHidden = shown === "l";
  });
  // A real terminal answers queries.
  terminal.onData((data) => pty.write(data));
  let open = true;
  const closed = new Promise<void>((done) => {
    pty.onExit(() => {
      open = false;
      done();
    });
  });
  const fileText = (name: string): Promise<string> =>
    readFile(join(folder, name), "utf8").then(
      (text) => text.trim(),
      () => "",
    );
  return {
    screen() {
      const buffer = terminal.buffer.active;
      return Array.from({ length: terminal.rows }, (_, row) =>
        (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
      ).join("\n");
    },
    picture: () => ({ modes: terminal.modes, alternate: terminal.buffer.active.type === "alternate", cursorHidden }),
    output: () => output,
    write: (data) => pty.write(data),
    resize(newCols, newRows) {
      terminal.resize(newCols, newRows);
      pty.resize(newCols, newRows);
    },
    async commandPid() {
      await expect.poll(() => fileText("pid"), { timeout: 20_000 }).not.toBe("");
      return Number(await fileText("pid"));
    },
    async ended() {
      await expect.poll(() => output, { timeout: 30_000 }).toContain("shell goes on");
      return { code: Number(await fileText("code")), before: await fileText("before"), after: await fileText("after") };
    },
    async close() {
      if (open) pty.kill("SIGKILL");
      await closed;
      terminal.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
