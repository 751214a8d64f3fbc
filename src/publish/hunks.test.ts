import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createPublishWorld } from "../../test/support/publish-world.ts";
import { applyToIndex, readPatch, selectHunks, shownHunks } from "./hunks.ts";
import { createUserGit } from "./user-git.ts";

/** How many random changes: each is a few Git commands. */
const runs = Number(process.env["POSTERN_HUNK_RUNS"] ?? "12");

const line = fc.constantFrom(
  "a",
  "b",
  "",
  "same",
  "same",
  "with \ttab",
  "ü",
  "-x",
  "+x",
  "@@ -1 +1 @@",
  "diff --git a b",
  "\\ No",
);
const ending = fc.constantFrom("\n", "\n", "\n", "\r\n");
const textOf = (lines: readonly (readonly [string, string])[], closed: boolean): string => {
  const text = lines.map(([words, end]) => `${words}${end}`).join("");
  return closed ? text : text.replace(/\r?\n$/, "");
};
const fileText = fc.tuple(fc.array(fc.tuple(line, ending), { minLength: 1, maxLength: 60 }), fc.boolean());
const edits = fc.array(fc.tuple(fc.nat(80), fc.constantFrom("insert", "remove", "replace"), line), {
  minLength: 1,
  maxLength: 6,
});

test("staging and unstaging hunks gives the same index as `git add -p` and `git reset -p`", async () => {
  const world = await createPublishWorld();
  const { dir, env, git } = world;
  const userGit = createUserGit({ pathVariable: env["PATH"] ?? "", environment: () => env });
  const path = "src/a.txt";
  const index = async () => (await git("ls-files", "--stage", "--", path)).trim();

  /** @param answers one for each part, as a person types them */
  const byHand = (command: readonly string[], answers: string): Promise<unknown> =>
    new Promise((resolve) => {
      const child = execFile("git", ["-C", dir, ...command, "--", path], { env }, resolve);
      child.stdin?.end(answers);
    });

  await fc.assert(
    fc.asyncProperty(
      fileText,
      edits,
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      fc.boolean(),
      async ([lines, closed], changes, picks, mode) => {
        await chmod(join(dir, path), 0o644);
        await writeFile(join(dir, path), textOf(lines, closed));
        await git("add", path);
        await git("commit", "--quiet", "--allow-empty", "--message=Before");
        const after = changes.reduce<readonly (readonly [string, string])[]>((now, [at, kind, words]) => {
          const place = at % (now.length + 1);
          const added: readonly (readonly [string, string])[] = kind === "remove" ? [] : [[words, "\n"]];
          return now.toSpliced(place, kind === "insert" ? 0 : 1, ...added);
        }, lines);
        await writeFile(join(dir, path), textOf(after, !closed));
        if (mode) await chmod(join(dir, path), 0o755);
        for (const reverse of [false, true]) {
          if (reverse) await git("add", path);
          const compared = reverse ? "staged" : "unstaged";
          const patch = await readPatch(userGit, dir, { path, compared });
          const hunks = shownHunks(patch);
          const chosen = hunks.filter((_, at) => picks[at % picks.length]);
          if (patch === null || chosen.length === 0) continue;
          const before = await git("write-tree");
          const answers = hunks.map((hunk) => (chosen.includes(hunk) ? "y\n" : "n\n")).join("");
          await byHand(reverse ? ["reset", "--patch"] : ["add", "--patch"], answers);
          const expected = await index();
          await git("read-tree", before.trim());
          const text = selectHunks(patch, new Set(chosen.map(({ hunkId }) => hunkId)), { reverse });
          await applyToIndex(userGit, dir, { patch: text, reverse });
          expect(await index()).toBe(expected);
          await git("read-tree", before.trim());
          await git("update-index", "--refresh", "--quiet").catch(() => undefined);
        }
      },
    ),
    { numRuns: runs, endOnFailure: true },
  );
});
