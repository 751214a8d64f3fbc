import type { TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";

/** A host of one terminal with a composer as Claude Code paints it, which the test can type into and cover with a dialog. */
export interface ScriptedComposer {
  readonly host: Pick<TerminalHostClient, "look" | "writeIfUnchanged">;
  /** What it holds. */
  text: string;
  /** A hint that is painted faint where nothing is typed. */
  hint: string;
  /** Whether a dialog covers it. */
  dialog: boolean;
  /** What happens between a look and the write that follows it. */
  beforeWrite: (data: string) => void;
  /** Whether it ignores Enter. */
  deaf: boolean;
  /** What was submitted. */
  readonly submitted: readonly string[];
  /** What was written while the dialog was open. */
  readonly intoDialog: readonly string[];
}

/** @see ScriptedComposer */
export function createScriptedComposer(): ScriptedComposer {
  const rule = "─".repeat(80);
  const submitted: string[] = [];
  const intoDialog: string[] = [];
  function linesWith(text: string): readonly string[] {
    if (composer.dialog) return [rule, " Do you want to proceed?", " ❯ 1. Yes", "   2. No", " Esc to cancel"];
    const rows = text.split("\n").map((row, index) => (index === 0 ? `❯ ${row}` : `  ${row}`));
    return [rule, ...rows, rule, "  ⏸ manual mode on"];
  }
  let painted = "";
  let offset = 0;
  /** Each change of the screen is one byte of output. */
  function paint(): number {
    const screen = linesWith(composer.text || composer.hint).join("\n");
    if (screen !== painted) offset += 1;
    painted = screen;
    return offset;
  }
  function write(data: string): void {
    if (composer.dialog) return void intoDialog.push(data);
    const paste = /^\u001b\[200~(.*)\u001b\[201~$/s.exec(data)?.[1];
    if (paste !== undefined) composer.text += paste;
    else if (/^[\u0015\u000b]+$/.test(data)) composer.text = "";
    else if (data === "\r" && !composer.deaf && composer.text !== "") {
      submitted.push(composer.text);
      composer.text = "";
    }
  }
  const composer: ScriptedComposer = {
    text: "",
    hint: "",
    dialog: false,
    beforeWrite: () => undefined,
    deaf: false,
    submitted,
    intoDialog,
    host: {
      look: async () => ({
        lines: linesWith(composer.text || composer.hint),
        bright: linesWith(composer.text),
        ...{ cols: 80, rows: 24, title: null, offset: paint() },
      }),
      async writeIfUnchanged(_terminalId, data, look) {
        composer.beforeWrite(String(data));
        if (paint() !== look.offset) return false;
        write(String(data));
        return true;
      },
    },
  };
  return composer;
}
