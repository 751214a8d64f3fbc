import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createPublishWorld, owner } from "../../test/support/publish-world.ts";

/** How many random histories: each is some dozens of Git commands. */
const wantedRuns = process.env["POSTERN_HISTORY_RUNS"];
const runs = Number(wantedRuns ?? "3");
/** The few of every test run are always the same. */
const seed = wantedRuns === undefined ? 17 : Date.now();

const sessionId = "s1";
const path = fc.constantFrom("one.txt", "two.txt", "README.md", "src/a.txt", "own.txt");
const text = fc.constantFrom("a\n", "b\n", "c\nd\n", "");
const commits = fc.array(fc.tuple(path, text), { minLength: 1, maxLength: 3 });

test("no merge or rebase of random histories loses a commit or an untracked file", {
  timeout: runs * 100_000,
}, async () => {
  const { publish, git, write, pushToMain, dir } = await createPublishWorld();
  const update = (more: object) => publish.update({ sessionId, ...more }, owner);
  /** Subjects are unique, and stay the same when a commit is written again. Oldest first. */
  const subjects = async (range: string) =>
    (await git("log", "--no-merges", "--reverse", "--format=%s", range)).split("\n").filter((line) => line !== "");
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      commits,
      commits,
      fc.constantFrom("merge", "rebase"),
      fc.boolean(),
      async (ours, theirs, strategy, aborts) => {
        await git("fetch", "--quiet");
        await git("reset", "--quiet", "--hard", "origin/main");
        await git("clean", "--quiet", "--force", "-d", "-x");
        const made: string[] = [];
        for (const [name, words] of ours) {
          const subject = `Ours ${(count += 1)}`;
          await write(name, words);
          await git("add", "--", name);
          await git("commit", "--quiet", "--allow-empty", `--message=${subject}`);
          made.push(subject);
        }
        for (const [name, words] of theirs) await pushToMain({ [name]: `${words}${(count += 1)}\n` });
        // Untracked files: one that only this side has, and one that the other side may want to write.
        await write("loose.txt", "mine\n");
        const known = (await git("ls-files")).split("\n");
        if (!known.includes("own.txt")) await write("own.txt", "mine, untracked\n");
        const head = (await git("rev-parse", "HEAD")).trim();

        const code = await errorCode(update({ strategy }));
        expect(["git_failed", "uncommitted_changes", "update_conflict", null]).toContain(code);
        if (code === "update_conflict" && !aborts) {
          for (let step = 0; step < 10; step += 1) {
            const { update: left } = await publish.status({ sessionId }, owner);
            if (left === null) break;
            for (const name of left.conflicts) await write(name, `resolved ${(count += 1)}\n`);
            await publish.stage({ sessionId, paths: [...left.conflicts] }, owner);
            await update({ action: "continue" }).catch(() => undefined);
          }
        } else if (code === "update_conflict") await update({ action: "abort" });
        const after = await publish.status({ sessionId }, owner);
        expect(after).toMatchObject({ branch: "feature", update: null });
        // Undone or refused: exactly as before. Only a rebase may leave out commits: those that are empty on the other side.
        if (code === "git_failed" || code === "uncommitted_changes" || (code !== null && aborts)) {
          expect(after.head?.commit).toBe(head);
        } else if (strategy === "merge") {
          expect(await subjects("origin/main..HEAD")).toEqual(made);
          await git("merge-base", "--is-ancestor", head, "HEAD");
        } else {
          const left = await subjects("origin/main..HEAD");
          expect(made.filter((subject) => left.includes(subject))).toEqual(left);
        }
        await git("cat-file", "-e", `${head}^{commit}`);
        expect(await git("reflog", "--format=%H", "feature")).toContain(head);
        expect(await readFile(join(dir, "loose.txt"), "utf8")).toBe("mine\n");
        if (!known.includes("own.txt")) {
          expect(await readFile(join(dir, "own.txt"), "utf8")).toBe("mine, untracked\n");
        }
      },
    ),
    { numRuns: runs, seed, endOnFailure: true },
  );
});
