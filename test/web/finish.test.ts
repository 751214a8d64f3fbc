import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { lookAt, signInUrl, useBrowser } from "../support/browser.ts";
import { openSession, patience } from "../support/session-page.ts";
import { useGateway } from "../support/use-gateway.ts";

const run = promisify(execFile);
const used = useGateway({ agents: "scripted" });
const browser = useBrowser();

test("changes are staged, committed, updated with a conflict that is aborted, and pushed, on a desktop and a phone", async () => {
  const { world, gateway } = used;
  const remote = join(world.root, "remote.git");
  const git = async (dir: string, ...args: readonly string[]) =>
    (await run("git", ["-C", dir, ...args], { env: world.env })).stdout;
  await writeFile(join(world.root, ".gitconfig"), "[user]\n\tname = Test\n\temail = test@example.invalid\n");
  await git(world.root, "init", "--quiet", "--bare", remote);
  await git(world.repository, "remote", "add", "origin", remote);
  const { sessionId, dir } = await gateway.api.ask({
    ...{ agent: "scripted", dir: world.repository, permissionMode: "all", prompt: "hello", waitMs: 60_000 },
    ...{ worktree: true, baseBranch: "main", branch: "feat/finish" },
  });
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.txt"), "new\n");

  const visit = await browser.visit(await signInUrl(gateway));
  const { page } = visit;
  await openSession(page, sessionId);
  await page.getByRole("tab", { name: "Changes" }).click();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("checkbox", { name: /^new\.txt/ }).click();
  await page.getByRole("button", { name: "Commit 1 file" }).waitFor(patience);
  await page.getByRole("textbox", { name: "Commit message" }).fill("Add a file");
  await lookAt(visit, "finish-desktop");
  await page.getByRole("button", { name: "Commit 1 file" }).click();
  await page.getByRole("checkbox", { name: /^new\.txt/ }).waitFor({ ...patience, state: "detached" });

  const phone = await browser.visit(await signInUrl(gateway), { device: "phone", colorScheme: "dark" });
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
  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  expect(visit.troubles()).toEqual([]);
});
