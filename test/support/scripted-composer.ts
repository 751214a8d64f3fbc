import type { TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";

/** A host of one terminal with a composer as Claude Code paints it, which the test can type into and cover with a dialog. */
export interface ScriptedComposer {
  readonly host: Pick<TerminalHostClient, "look" | "write">;
  /** What it holds. */
  text: string;
  /** A hint that is painted faint where nothing is typed. */
  hint: string;
  /** Whether a dialog covers it. */
  dialog: boolean;
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
    deaf: false,
    submitted,
    intoDialog,
    host: {
      look: async () => ({
        lines: linesWith(composer.text || composer.hint),
        bright: linesWith(composer.text),
        ...{ cols: 80, rows: 24, title: null, offset: 0 },
      }),
      write: async (_terminalId, data) => write(String(data)),
    },
  };
  return composer;
}
