import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Each invariant of the interleavings, and a guard in the reducer that keeps it: what stands there, and the same without it. */
const guards = [
  {
    invariant: "sent while it rests",
    file: "next-prompts.ts",
    guard: "if (prompt === undefined || !isFree || !maySend)",
    without: "if (prompt === undefined || !isFree)",
  },
  {
    invariant: "two at once",
    file: "next-prompts.ts",
    guard: "state.sending === null && state.sent === null && state.holds === 0",
    without: "state.sending === null && state.holds === 0",
  },
  {
    invariant: "typed twice",
    file: "next-prompts.ts",
    guard: "waiting: without(state.waiting, promptId), sending: { ...sending, typing: true }",
    without: "sending: { ...sending, typing: true }",
  },
  {
    invariant: "what it does",
    file: "transcript-view.ts",
    guard: "|| (silent && isNewerThanPrompt(view));",
    without: "|| (silent && view === null);",
  },
  {
    invariant: "all is settled",
    file: "next-prompts.ts",
    guard:
      "return state.sent === null ? only(state) : giveUp(state, state.sent, fateAtEnd(state.sent, message, context));",
    without: "return only(state);",
  },
  {
    invariant: "the store says the same",
    file: "next-prompts.ts",
    guard: '    effects: [{ kind: "mark", promptId, state: fateState }],',
    without: "    effects: [],",
  },
  {
    invariant: "queued, not typed",
    file: "next-prompts.ts",
    guard:
      '{ state: "sent", turnsBefore, turnOver: false },\n  );\n  if (!canConfirm(sending.prompt, context)) return only(next);',
    without: '{ state: "queued", turnsBefore, turnOver: false },\n  );\n  if (true) return only(next);',
  },
  {
    invariant: "delivered",
    file: "next-prompts.ts",
    guard: 'if (by === "transcript" || context.template.transcriptFormat === null)',
    without: "if (by !== null)",
  },
  {
    invariant: "lost",
    file: "next-prompts.ts",
    guard: "return neverTook && endedItself(exit) ?",
    without: "return neverTook ?",
  },
  {
    invariant: "replayed",
    file: "next-session.ts",
    guard: "hooks: { lastAt: line.at,",
    without: "hooks: { lastAt: Math.random(),",
  },
] as const;

test.each(guards)(
  "without its guard the interleavings fail: $invariant",
  async ({ invariant, file, guard, without }) => {
    const copy = await mkdtemp(join(root, ".cache/without-guard-"));
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
    for (const part of ["src", "test/support", "tsconfig.json", "package.json"]) {
      await cp(join(root, part), join(copy, part), { recursive: true });
    }
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    const path = join(copy, "src/sessions", file);
    const source = await readFile(path, "utf8");
    expect(source.split(guard), "the guard stands once").toHaveLength(2);
    await writeFile(
      path,
      source.replace(guard, () => without),
    );
    await writeFile(
      join(copy, "vitest.config.ts"),
      'export default { test: { include: ["src/sessions/interleavings.test.ts"] } };',
    );
    const vitest = join(root, "node_modules/.bin/vitest");
    const { status, stdout, stderr } = spawnSync(vitest, ["run"], { cwd: copy, encoding: "utf8", maxBuffer: 2 ** 26 });
    expect(status, "the test fails").toBe(1);
    expect(stdout + stderr).toContain(`: ${invariant}: expected`);
  },
);
