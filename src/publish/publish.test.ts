import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createPublishWorld, owner } from "../../test/support/publish-world.ts";
import type { StatusFile } from "../wire/publish.ts";

const sessionId = "s1";

function shown(files: readonly StatusFile[]): readonly string[] {
  return files.map(({ path, previousPath, staged, unstaged }) =>
    [path, previousPath ?? "", staged ?? "", unstaged ?? ""].join("|"),
  );
}

test("reads, stages and commits files, with the user's hooks, and says what a hook refused", async () => {
  const { publish, write, git, dir, hook, notes } = await createPublishWorld();
  const status = () => publish.status({ sessionId }, owner);
  expect(await status()).toMatchObject({
    branch: "feature",
    head: { subject: "Begin" },
    upstream: null,
    base: { name: "origin/main", ahead: 0, behind: 0 },
    remotes: ["origin"],
    files: [],
    update: null,
  });
  await write("README.md", "# Changed\n");
  await write("new file\n'\".txt", "new\n");
  await write("src/ü.txt", "new\n");
  await chmod(join(dir, "src/a.txt"), 0o755);
  expect(shown((await status()).files)).toEqual([
    "README.md|||modified",
    "src/a.txt|||modified",
    "new file\n'\".txt|||untracked",
    "src/ü.txt|||untracked",
  ]);
  expect(await errorCode(publish.commit({ sessionId, message: "Empty" }, owner))).toBe("nothing_to_commit");
  const staged = await publish.stage({ sessionId, paths: ["new file\n'\".txt", "README.md"] }, owner);
  expect(shown(staged.files)).toContain("new file\n'\".txt||added|");
  expect(await errorCode(publish.stage({ sessionId, paths: ["*"] }, owner))).toBe("changes_outdated");
  await publish.stage({ sessionId, paths: ["README.md"], unstage: true }, owner);

  await hook("pre-commit", 'printf "\\033[31mno tabs\\033[0m please\\n" >&2; exit 3');
  await expect(publish.commit({ sessionId, message: "Refused" }, owner)).rejects.toMatchObject({
    code: "git_failed",
    details: { output: "no tabs please" },
  });
  await hook("pre-commit", "echo checked");
  await hook("commit-msg", 'ps -o args= -p $PPID > "$HOME/argv"');
  const committed = await publish.commit({ sessionId, message: "First\n\n#1 stays\n" }, owner);
  expect(committed.output).toContain("checked");
  expect(shown(committed.status.files)).toEqual([
    "README.md|||modified",
    "src/a.txt|||modified",
    "src/ü.txt|||untracked",
  ]);
  expect(await git("log", "-1", "--format=%B")).toBe("First\n\n#1 stays\n\n");
  const argv = await readFile(join(dir, "..", "argv"), "utf8");
  expect(argv).toContain("commit");
  expect(argv).not.toContain("stays");

  await git("mv", "src/a.txt", "src/b.txt");
  expect(shown((await status()).files)).toContain("src/b.txt|src/a.txt|renamed|modified");
  const back = await publish.stage({ sessionId, paths: ["src/b.txt"], unstage: true }, owner);
  expect(shown(back.files)).toEqual(expect.arrayContaining(["src/a.txt|||deleted", "src/b.txt|||untracked"]));
  await publish.commit({ sessionId, message: "Second", all: true }, owner);
  const amended = await publish.commit({ sessionId, message: "Second, better", amend: true }, owner);
  expect(amended.status).toMatchObject({ files: [], base: { ahead: 2, behind: 0 } });
  expect(await git("log", "--format=%s")).toBe("Second, better\nFirst\nBegin\n");
  expect(notes.map(({ action, subject }) => `${action} ${subject}`)).toEqual(Array(3).fill("git_committed s1"));
});

test("works in a repository without commits", async () => {
  const { publish, write, git, dir } = await createPublishWorld();
  await rm(join(dir, ".git"), { recursive: true });
  await git("init", "--quiet");
  await write("new.txt", "new\n");
  const status = await publish.stage({ sessionId, paths: ["new.txt"] }, owner);
  expect(status).toMatchObject({ branch: "main", head: null, base: null, upstream: null });
  await publish.stage({ sessionId, unstage: true }, owner);
  expect(await errorCode(publish.commit({ sessionId, message: "x" }, owner))).toBe("nothing_to_commit");
  await publish.commit({ sessionId, message: "First", all: true }, owner);
  expect(await git("log", "--format=%s")).toBe("First\n");
});

test("refuses while an agent works there, and to callers without the whole repository", async () => {
  const { publish, write, agent, dir, git, root } = await createPublishWorld();
  await write("README.md", "# Changed\n");
  agent.working = true;
  const input = { sessionId, message: "Now", all: true };
  expect(await errorCode(publish.commit(input, owner))).toBe("agent_working");
  expect((await publish.status({ sessionId }, owner)).agentWorking).toBe(true);
  const limited = { ...owner, folders: [join(dir, "src")] };
  expect(await errorCode(publish.status({ sessionId }, limited))).toBe("dir_not_allowed");
  expect(await errorCode(publish.commit({ ...input, whileWorking: true }, limited))).toBe("dir_not_allowed");
  await publish.commit({ ...input, whileWorking: true }, owner);
  // An agent cannot lead the user's git into another repository.
  await git("init", "--quiet", join(root, "elsewhere"));
  await rm(join(dir, ".git"), { recursive: true });
  await write(".git", `gitdir: ${root}/elsewhere/.git\n`);
  expect(await errorCode(publish.status({ sessionId }, owner))).toBe("not_a_git_repository");
});
