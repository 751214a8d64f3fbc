import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createFastClock } from "../../test/support/fast-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { createTemplates } from "../agents/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { typePrompt } from "./deliver.ts";
import type { TypedPrompt } from "./prompts.ts";

const editor = join(import.meta.dirname, "../agents/editor.sh");
const text = "a line\nthat no paste takes \t exactly";

let host: TerminalHostClient;
let folder: string;

beforeEach(async () => {
  folder = join(await makeTempFolder(), "launch");
  await mkdir(folder);
  host = await (await makeHostFixture()).connect();
});

interface Delivered {
  readonly end: TypedPrompt;
  /** The text that the agent received after the key that opens the editor. */
  readonly typed: string;
  readonly left: { readonly prompt: boolean; readonly mark: boolean };
}

/** @param onKey shell commands of the agent for its editor's key */
async function deliver(
  onKey: string,
  { clock = createFastClock(), onTyping }: { clock?: Clock; onTyping?: (terminalId: string) => Promise<void> } = {},
): Promise<Delivered> {
  const [template] = createTemplates([]).filter(({ paste }) => paste.editorKey !== null);
  if (template === undefined) throw new Error("no template has an editor's key");
  const script = `stty raw -echo; printf 'READY>'; dd bs=1 count=1 of=key 2>/dev/null; ${onKey}; exec cat >typed`;
  const spec = specOf(["/bin/sh", "-c", script], { cwd: folder, env: { PATH: process.env["PATH"] ?? "" } });
  const { terminalId } = await host.spawn(spec);
  const promptPath = join(folder, "prompt");
  const paste = { ...template.paste, isExact: () => false, editorKey: "\u0007", enterDelayMs: 10, suffix: " " };
  const painted = (lines: readonly string[]): boolean => lines.some((line) => line.startsWith("READY>"));
  const terminal = { terminalId, promptPath, template: { ...template, paste, composerPainted: painted } };
  try {
    const end = await typePrompt({ host, clock }, terminal, {
      text,
      maySend: async () => true,
      mayWrite: () => true,
      onTyping: async () => {
        await onTyping?.(terminalId);
        return true;
      },
    });
    const read = (): Promise<string> => readFile(join(folder, "typed"), "utf8").catch(() => "");
    const giveUpAt = Date.now() + 5_000;
    while (end === "typed" && !(await read()).endsWith("\r") && Date.now() < giveUpAt) await systemClock.sleep(10);
    const typed = await read();
    return { end, typed, left: { prompt: existsSync(promptPath), mark: existsSync(`${promptPath}.pending`) } };
  } finally {
    await host.end(terminalId, { graceMs: 100 });
  }
}

const edit = `POSTERN_SESSION_PROMPT=prompt POSTERN_SESSION_EDITOR='touch vi;' '${editor}' edited`;

test("a prompt that only an editor takes exactly is in its file before Enter", async () => {
  const { end, typed, left } = await deliver(`sleep 0.2; ${edit}`, { clock: systemClock });
  expect(await readFile(join(folder, "edited"), "utf8")).toBe(`${text} `);
  expect([end, typed, left]).toEqual(["typed", "\r", { prompt: false, mark: false }]);
});

test("a prompt is pasted when no editor came and the composer is there", async () => {
  const { end, typed, left } = await deliver("true");
  expect([end, left.prompt]).toEqual(["typed", false]);
  expect(typed).toBe(`\u001b[200~${text} \u001b[201~\r`);
});

test("nothing is typed when no editor came and the composer is gone", async () => {
  const { end, typed, left } = await deliver("printf '\\033[2J'");
  expect([end, typed, left.prompt]).toEqual(["lost", "", false]);
});

test("an editor that comes after its prompt was taken back does not become the user's own", async () => {
  const { end, typed, left } = await deliver(
    `while [ ! -f prompt.pending ] || [ -f prompt ]; do sleep 0.05; done; ${edit}`,
  );
  expect(end).toBe("typed");
  expect(typed).toBe(`\u001b[200~${text} \u001b[201~\r`);
  expect([left, existsSync(join(folder, "vi"))]).toEqual([{ prompt: false, mark: false }, false]);
});

test("a prompt is not left lying about when its terminal is gone", async () => {
  const onTyping = async (terminalId: string): Promise<void> => void (await host.end(terminalId, { graceMs: 100 }));
  expect(await deliver("true", { onTyping })).toMatchObject({ end: "not_typed", typed: "" });
  for (const name of ["prompt", "prompt.pending"]) expect(existsSync(join(folder, name)), name).toBe(false);
});
