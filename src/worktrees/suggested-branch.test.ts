import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWorktreeWorld } from "../../test/support/worktree-world.ts";
import { createGitWorkshop } from "./git-workshop.ts";
import { suggestBranch } from "./suggested-branch.ts";

async function setUp() {
  const world = await createWorktreeWorld();
  const { git } = createGitWorkshop({ home: join(world.root, "state"), pathVariable: process.env["PATH"] ?? "" });
  const suggest = (prompt: string, prefix: string | null = null) =>
    suggestBranch(git, join(world.repository, ".git"), { prompt, prefix });
  const branchOf = async (sessionId: string) => (await world.worktrees.ofSession(sessionId))?.branch;
  return { ...world, suggest, branchOf };
}

test("a suggested branch has the first words of the prompt", async () => {
  const { suggest, git } = await setUp();
  const table = {
    "Repair the build": "postern/repair-the-build",
    "Why doesn't `npm test` pass on macOS, since Tuesday?": "postern/why-doesnt-npm-test-pass",
    "  /review\n\nsrc/cli/x.ts": "postern/review-src-cli-x-ts",
    "Größe der Tabelle ändern": "postern/größe-der-tabelle-ändern",
    "修复 构建": "postern/修复-构建",
    "HEAD..lock @{-1}": "postern/head-lock-1",
    [`short ${"x".repeat(60)}`]: "postern/short",
    ["y".repeat(60)]: `postern/${"y".repeat(40)}`,
  };
  for (const [prompt, branch] of Object.entries(table)) expect(await suggest(prompt)).toBe(branch);
  expect(await suggest("Fix it", "team/agents/")).toBe("team/agents/fix-it");
  await git("branch", "team");
  expect(await suggest("Fix it", "team/agents/")).toBe("team-agents-fix-it");
  expect(await suggest("??? ../..")).toMatch(/^postern\/[a-z]+-[a-z]+$/);
});

test("Git accepts the branch suggested for any prompt", async () => {
  const { suggest, git } = await setUp();
  const prompt = fc.oneof(fc.string({ unit: "binary", maxLength: 60 }), fc.string({ unit: "grapheme", maxLength: 60 }));
  await fc.assert(
    fc.asyncProperty(prompt, async (given) => {
      const branch = await suggest(given);
      expect(await git("check-ref-format", "--branch", branch)).toBe(`${branch}\n`);
    }),
    { numRuns: 25 },
  );
});

describe("a worktree without a branch or base", () => {
  test("has a branch from the prompt, with a number when it is in use, also for sessions that start together", async () => {
    const { make, branchOf, git } = await setUp();
    const asked = { branch: null, prompt: "Repair it" };
    const made = await Promise.all([make("", asked), make("", asked), make("", asked)]);
    const branches = await Promise.all(made.map(({ sessionId }) => branchOf(sessionId)));
    expect(new Set(branches)).toEqual(new Set(["postern/repair-it", "postern/repair-it-2", "postern/repair-it-3"]));
    // A branch rules out the names above it.
    await git("branch", "postern/other/below");
    expect(await branchOf((await make("", { branch: null, prompt: "other" })).sessionId)).toBe("postern/other-2");
  });

  test("starts from the remote's default branch, else main, else master, else the current branch", async () => {
    const { make, git, worktrees } = await setUp();
    const baseOf = async (branch: string) => {
      const { sessionId } = await make(branch, { baseBranch: null });
      return (await worktrees.ofSession(sessionId))?.baseBranch;
    };
    await git("switch", "--quiet", "-c", "topic");
    expect(await baseOf("a")).toBe("main");
    await git("branch", "--move", "main", "master");
    expect(await baseOf("b")).toBe("master");
    await git("branch", "--move", "master", "trunk");
    expect(await baseOf("c")).toBe("topic");
    await git("update-ref", "refs/remotes/origin/develop", "trunk");
    await git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop");
    expect(await baseOf("d")).toBe("origin/develop");
    await git("branch", "develop");
    expect(await baseOf("e")).toBe("develop");
    await git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone");
    expect(await baseOf("f")).toBe("topic");
    await git("switch", "--quiet", "--detach");
    expect(await baseOf("g")).toBe("HEAD");
  });
});
