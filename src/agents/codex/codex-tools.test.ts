import { expect, test } from "vitest";
import { shownCall, shownResult } from "./codex-tools.ts";

const script = (input: string) => shownCall({ id: "1", name: "exec", input, result: null });

test("a script is shown as the commands that it runs, with any quotes", () => {
  expect(
    script('// @exec: {}\nlet result = await tools.exec_command({"cmd":"npm test \\"a\\"","yield_time_ms":30000});'),
  ).toMatchObject({ name: "exec_command", input: { command: 'npm test "a"' } });
  expect(script("await tools.exec_command({ workdir: '/x', cmd: 'it\\'s' })").input).toEqual({ command: "it's" });
  expect(script("await tools.exec_command({cmd: `a\nb`})").input).toEqual({ command: "a\nb" });
  expect(
    script('await Promise.all([tools.exec_command({cmd: "one"}), tools.exec_command({cmd: "two"})])').input,
  ).toEqual({ command: "one\ntwo" });
});

test("a script whose commands are computed, or that does something else, stays a script", () => {
  for (const input of [
    "const cmd = x(); await tools.exec_command({cmd})",
    "await tools.exec_command({cmd: `ls ${dir}`})",
    'await tools.apply_patch("*** Begin Patch")',
    'text("tools.exec_command")',
  ])
    expect(script(input)).toMatchObject({ name: "exec", input });
  const other = { id: "1", name: "shell", input: 'tools.exec_command({cmd: "x"})', result: null };
  expect(shownCall(other)).toBe(other);
});

test("a command that failed is a failure, though its script completed", () => {
  const completed = (text: string) =>
    shownResult({ ok: true, text: `Script completed\nWall time 0.1 seconds\nOutput:\n${text}`, truncated: false });
  expect(completed("out\nExit code 1")).toEqual({ ok: false, text: "out\nExit code 1", truncated: false });
  expect(completed('{"exit_code":2,"output":"no"}').ok).toBe(false);
  expect(completed("fine\nExit code 0")).toMatchObject({ ok: true, text: "fine\nExit code 0" });
  expect(completed("Exit code 1 is what it says\nall is well").ok).toBe(true);
  expect(shownResult({ ok: false, text: "aborted by user after 4.9s", truncated: false }).ok).toBe(false);
});
