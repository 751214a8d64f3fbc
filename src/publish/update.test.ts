import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createPublishWorld, owner } from "../../test/support/publish-world.ts";

const sessionId = "s1";

test("updates from the base, hands conflicts over, continues, aborts and pushes, with a lease after a rebase", {
  timeout: 300_000,
}, async () => {
  const world = await createPublishWorld();
  const { publish, git, write, pushToMain } = world;
  await write("README.md", "# Ours\n");
  const first = { sessionId, message: "Ours", all: true };
  await publish.commit(first, owner);
  const pushed = await publish.push({ sessionId }, owner);
  expect(pushed).toMatchObject({
    remote: "origin",
    status: { upstream: { name: "origin/feature", ahead: 0, behind: 0 } },
  });

  await pushToMain({ "README.md": "# Theirs\n", "more.txt": "more\n" });
  await write("loose.txt", "untracked\n");
  await write("more.txt", "mine, not theirs\n");
  const update = (more: object) => publish.update({ sessionId, ...more }, owner);
  // It would overwrite an untracked file.
  expect(await errorCode(update({}))).toBe("git_failed");
  expect(await publish.status({ sessionId }, owner)).toMatchObject({ update: null, base: { ahead: 1, behind: 1 } });
  await git("clean", "--quiet", "--force", "--", "more.txt");
  for (const strategy of ["merge", "rebase"]) {
    await expect(update({ strategy })).rejects.toMatchObject({
      code: "update_conflict",
      details: { files: ["README.md"] },
    });
    const { update: left } = await publish.status({ sessionId }, owner);
    expect(left).toMatchObject({ strategy, conflicts: ["README.md"], interrupted: false });
    expect(left?.prompt).toContain("- `README.md`\n");
    expect(await errorCode(publish.commit(first, owner))).toBe("update_in_progress");
    expect(await errorCode(update({ action: "continue" }))).toBe("update_conflict");
    if (strategy === "rebase") continue;
    expect((await update({ action: "abort" })).status).toMatchObject({ update: null, base: { ahead: 1, behind: 1 } });
    expect(await errorCode(update({ action: "abort" }))).toBe("no_update_in_progress");
  }
  await write("README.md", "# Both\n");
  await publish.stage({ sessionId, paths: ["README.md"] }, owner);
  const done = await update({ action: "continue" });
  expect(done.status).toMatchObject({ update: null, base: { ahead: 1, behind: 0 }, mayForcePush: true });
  expect(await git("show", "HEAD:README.md")).toBe("# Both\n");
  expect(done.status.files.map(({ path }) => path)).toEqual(["loose.txt"]);

  await expect(publish.push({ sessionId }, owner)).rejects.toMatchObject({
    code: "push_rejected",
    details: { output: expect.stringContaining("non-fast-forward") },
  });
  await publish.push({ sessionId, forceWithLease: true }, owner);
  expect(await errorCode(publish.push({ sessionId, forceWithLease: true }, owner))).toBe("invalid_request");
  await write("README.md", "# Dirty\n");
  await expect(update({})).rejects.toMatchObject({ code: "uncommitted_changes", details: { files: ["README.md"] } });
  expect(await errorCode(publish.push({ sessionId, remote: "--all" }, owner))).toBe("invalid_request");
});

test("an update during which git was killed can be undone or continued, and nothing is lost", {
  timeout: 300_000,
}, async () => {
  for (const [strategy, action] of [
    ["merge", "continue"],
    ["rebase", "abort"],
  ] as const) {
    const { publish, git, write, pushToMain, dir } = await createPublishWorld();
    await write("src/a.txt", "ours\n");
    await publish.commit({ sessionId, message: "Ours", all: true }, owner);
    await pushToMain({ "README.md": "# Theirs\n", "more.txt": "more\n" });
    await write("loose.txt", "untracked\n");
    await git("fetch", "--quiet");
    const [head = "", onto = ""] = (await git("rev-parse", "HEAD", "origin/main")).trim().split("\n");
    // As a git that was killed while it wrote the work tree leaves it.
    await writeFile(
      join(dir, ".git", "postern-update.json"),
      JSON.stringify({ strategy, branch: "feature", head, onto, startedAt: Date.now() }),
    );
    if (strategy === "rebase")
      await git("checkout", "--quiet", "--detach", "origin/main", "--", ".").catch(() =>
        git("checkout", "--quiet", "--detach", "HEAD"),
      );
    await writeFile(join(dir, ".git", "index.lock"), "");
    await write("README.md", "# Theirs\n");
    await write("more.txt", "more\n");
    expect(await publish.status({ sessionId }, owner)).toMatchObject({ update: { strategy, interrupted: true } });
    const { status } = await publish.update({ sessionId, action }, owner);
    expect(status).toMatchObject({ branch: "feature", update: null, base: { behind: action === "abort" ? 1 : 0 } });
    expect(status.files.map(({ path }) => path)).toEqual(["loose.txt"]);
    if (action === "abort") expect(status.head?.commit).toBe(head);
    expect(await git("show", "HEAD:src/a.txt")).toBe("ours\n");
  }
});

test("neither an old killed update nor an ignored file is overwritten, and a commit's hook can use pathspecs", {
  timeout: 300_000,
}, async () => {
  const { publish, git, write, hook, pushToMain, dir, notes } = await createPublishWorld();
  const update = (more: object) => publish.update({ sessionId, ...more }, owner);
  // A hook that checks all Markdown files.
  await hook("pre-commit", `git diff --cached --name-only -- '*.md' | grep -q README.md || exit 1`);
  await write("README.md", "# Ours\n");
  await write(".gitignore", ".env\n");
  await publish.commit({ sessionId, message: "Ours", all: true }, owner);
  const [begin = ""] = (await git("rev-parse", "HEAD")).split("\n");
  await hook("pre-commit", "exit 0");

  // The record of a killed update whose work went on without it.
  const record = join(dir, ".git", "postern-update.json");
  const killed = { strategy: "merge", branch: "feature", head: begin, onto: "0".repeat(40), startedAt: Date.now() };
  await writeFile(record, JSON.stringify(killed));
  await write("later.txt", "later\n");
  await git("add", "later.txt");
  await git("commit", "--quiet", "--message=Later");
  expect((await publish.status({ sessionId }, owner)).update).toBeNull();
  for (const action of ["abort", "continue"]) {
    await writeFile(record, JSON.stringify(killed));
    expect(await errorCode(update({ action })), action).toBe("no_update_in_progress");
    expect(await git("show", "HEAD:later.txt")).toBe("later\n");
  }

  await pushToMain({ ".env": "theirs\n" });
  await write(".env", "mine, and secret\n");
  await expect(update({})).rejects.toMatchObject({ code: "uncommitted_changes", details: { files: [".env"] } });
  expect(await readFile(join(dir, ".env"), "utf8")).toBe("mine, and secret\n");
  await git("rm", "--quiet", "later.txt");
  await publish.commit({ sessionId, message: "Less", all: true }, owner);

  await rm(join(dir, ".env"));
  await pushToMain({ "README.md": "# Theirs\n" });
  expect(await errorCode(update({}))).toBe("update_conflict");
  expect(notes.at(-1)).toMatchObject({ details: { conflict: true } });
  expect(await errorCode(publish.stage({ sessionId, unstage: true }, owner))).toBe("invalid_request");
  await write("README.md", "# Both\n");
  await publish.stage({ sessionId, paths: ["README.md"] }, owner);
  await publish.stage({ sessionId, unstage: true }, owner);
  await publish.stage({ sessionId, paths: ["README.md"] }, owner);
  await update({ action: "continue" });
  expect((await git("rev-list", "--parents", "-1", "HEAD")).trim().split(" ")).toHaveLength(3);
  expect(await git("log", "-1", "--format=%B")).not.toContain("#");
});

test("an agent that begins to work during the fetch stops the update", { timeout: 300_000 }, async () => {
  const { publish, git, pushToMain, agent } = await createPublishWorld();
  await pushToMain({ "more.txt": "more\n" });
  const head = await git("rev-parse", "HEAD");
  // It is asked before the update, with the status before the fetch, and with the one after it.
  let asked = 0;
  Object.defineProperty(agent, "working", { get: () => ++asked > 2 });
  expect(await errorCode(publish.update({ sessionId }, owner))).toBe("agent_working");
  expect(await git("rev-parse", "HEAD")).toBe(head);
  await publish.update({ sessionId, whileWorking: true }, owner);
  expect(await git("show", "HEAD:more.txt")).toBe("more\n");
});
