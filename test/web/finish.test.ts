import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { checkRun, comment, fakeHost, startFakeGitHub } from "../support/fake-github.ts";
import { openSession } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const run = promisify(execFile);
/** Each step runs several programs, and the machine can be busy. */
const patience = { timeout: 120_000, interval: 100 };
const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("changes are staged, committed, updated with a conflict that is aborted, pushed and merged, on a desktop and a phone", async () => {
  const { world, gateway } = used;
  const remote = join(world.root, "remote.git");
  const git = async (dir: string, ...args: readonly string[]) =>
    (await run("git", ["-C", dir, ...args], { env: world.env })).stdout;
  await git(world.root, "init", "--quiet", "--bare", "--initial-branch=main", remote);
  // The home directory is the folder of the test, so `gh` finds its login there.
  const config = join(world.root, ".config");
  await mkdir(config, { recursive: true });
  const github = await startFakeGitHub({ root: config, bare: remote });
  const url = `http://${fakeHost}/o/r.git`;
  await writeFile(
    join(world.root, ".gitconfig"),
    `[user]\n\tname = Test\n\temail = test@example.invalid\n[url "${remote}"]\n\tinsteadOf = ${url}\n`,
  );
  await git(world.repository, "remote", "add", "origin", url);
  const { sessionId, dir } = await gateway.api.ask({
    ...{ agent: "scripted", dir: world.repository, permissionMode: "all", prompt: "hello", waitMs: 60_000 },
    ...{ worktree: true, baseBranch: "main", branch: "feat/finish" },
  });
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.txt"), "new\n");

  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  page.setDefaultTimeout(patience.timeout);
  await openSession(page, sessionId);
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("checkbox", { name: /^new\.txt/ }).click();
  await page.getByRole("button", { name: "Commit 1 file" }).waitFor(patience);
  const message = page.getByRole("textbox", { name: "Commit message" });
  await page.getByRole("button", { name: "Suggest a message" }).click();
  await expect.poll(() => message.inputValue(), patience).toContain("Suggest a commit message for the staged changes");
  await message.fill("Add a file");
  await lookAt(visit, "finish-desktop");
  await page.getByRole("button", { name: "Commit 1 file" }).click();
  await page.getByRole("checkbox", { name: /^new\.txt/ }).waitFor({ ...patience, state: "detached" });

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone", colorScheme: "dark" });
  phone.page.setDefaultTimeout(patience.timeout);
  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Changes" }).click();
  await phone.page.getByRole("button", { name: "Finish" }).tap();
  await phone.page.getByRole("checkbox", { name: "1 file" }).tap();
  await phone.page.getByRole("button", { name: "Commit 1 file" }).waitFor(patience);
  await phone.page.getByRole("textbox", { name: "Commit message" }).fill("Change the readme");
  await phone.page.getByRole("button", { name: "Commit 1 file" }).tap();
  await phone.page.getByText("No uncommitted changes.").waitFor(patience);
  await writeFile(join(world.repository, "README.md"), "elsewhere\n");
  await git(world.repository, "commit", "--quiet", "--all", "--message=Elsewhere");
  await phone.page.getByRole("button", { name: "Update" }).tap();
  await phone.page.getByText("The merge stopped with conflicts in 1 file.").waitFor(patience);
  expect(phone.troubles(), "the browser itself reports the conflict").toEqual([expect.stringContaining("409")]);
  await lookAt(phone, "finish-conflict-phone");
  await phone.page.getByRole("button", { name: "Abort" }).tap();
  await phone.page.getByText("No uncommitted changes.").waitFor(patience);
  await phone.page.getByRole("button", { name: "Push" }).tap();
  await phone.page.getByText(/0 ahead of and 0 behind origin\/feat\/finish/).waitFor(patience);
  expect(await git(remote, "log", "--format=%s", "feat/finish", "-2")).toBe("Change the readme\nAdd a file\n");
  await git(world.repository, "push", "--quiet", "origin", "main~1:refs/heads/main");

  // A pull request, from open to merged.
  await page.reload();
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("button", { name: "Open pull request…" }).click(patience);
  const form = page.getByRole("dialog", { name: "Open pull request" });
  expect(await form.getByRole("textbox", { name: "Title" }).inputValue()).toBe("Add a file");
  expect(await form.getByRole("textbox", { name: "Description" }).inputValue()).toContain("- Change the readme");
  expect(await form.getByRole("textbox", { name: "Base branch" }).inputValue()).toBe("main");
  await lookAt(visit, "finish-open-pull-request");
  github.details.checks = [checkRun("build", null), checkRun("lint", "SUCCESS")];
  await form.getByRole("button", { name: "Open pull request" }).click();
  const panel = page.getByRole("region", { name: "Pull request" });
  await panel.getByText("2 checks: 1 pending, 1 passed").waitFor(patience);
  const link = panel.getByRole("link", { name: "#1 Add a file" });
  expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
  expect(await link.getAttribute("href")).toBe(`http://${fakeHost}/o/r/pull/1`);

  // Without a click: the page reads again while a check is pending.
  github.details.checks = [
    checkRun("build", "FAILURE", { title: "retry.test.ts failed" }),
    checkRun("lint", "SUCCESS"),
  ];
  github.details.threads = [
    { isResolved: false, path: "new.txt", line: 1, comments: { nodes: [comment("ada", "Say **what** is new.", 1)] } },
  ];
  await panel.getByText("2 checks: 1 failed, 1 passed").waitFor(patience);
  await panel.getByText("new.txt:1").waitFor(patience);
  expect(await panel.getByRole("button", { name: "Merge…" }).isDisabled()).toBe(true);
  await panel.getByRole("button", { name: "Merge…" }).scrollIntoViewIfNeeded();
  await lookAt(visit, "finish-pull-request");
  await panel.getByRole("button", { name: "Ask the agent to fix the checks" }).click();
  await page.getByRole("dialog").waitFor({ ...patience, state: "detached" });
  const received = () => world.modelServer.requests.map(({ prompt }) => prompt).join("\n");
  await expect.poll(received, patience).toContain("retry.test.ts failed");

  await openSession(phone.page, sessionId);
  await phone.page.getByRole("tab", { name: "Changes" }).click();
  await phone.page.getByRole("button", { name: "Finish" }).tap();
  const phonePanel = phone.page.getByRole("region", { name: "Pull request" });
  await phonePanel.getByText("2 checks: 1 failed, 1 passed").waitFor(patience);
  await phonePanel.getByRole("button", { name: "Ask the agent to address the comments" }).scrollIntoViewIfNeeded();
  await lookAt(phone, "finish-pull-request-phone");

  github.details.checks = [checkRun("build", "SUCCESS"), checkRun("lint", "SUCCESS")];
  await page.getByRole("button", { name: "Finish" }).click();
  await panel.getByText("2 checks: 2 passed").waitFor(patience);
  await panel.getByRole("button", { name: "Merge…" }).click();
  const confirmation = page.getByRole("dialog", { name: "Merge into main?" });
  await confirmation.getByRole("combobox", { name: "Method" }).selectOption("squash");
  await lookAt(visit, "finish-merge");
  await confirmation.getByRole("button", { name: "Merge into main" }).click();
  await panel.getByText("Merged", { exact: true }).waitFor(patience);
  expect(await git(remote, "log", "--format=%s", "main", "-1")).toBe("Merge pull request #1\n");
  expect(await git(remote, "show", "main:README.md")).toBe("changed\n");
  await panel.getByRole("button", { name: "Close session and worktree…" }).click();
  const closing = page.getByRole("dialog", { name: "Close this session?" });
  await closing.getByRole("button", { name: "Close session" }).click(patience);
  await expect.poll(() => existsSync(dir), patience).toBe(false);
  expect(phone.troubles()).toEqual([]);
  expect(visit.troubles()).toEqual([]);
}, 600_000);
