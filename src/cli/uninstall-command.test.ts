import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { sessionSummary, startScriptedGateway } from "../../test/support/scripted-gateway.ts";
import type { InstalledPart } from "./ports.ts";

const names = ["service", "cache", "state", "command"] as const;

async function uninstall(argv: readonly string[], answers: string | null) {
  const removed: string[] = [];
  const parts = names.map((name): InstalledPart => {
    const what = `the ${name} (/${name})`;
    return {
      name,
      what,
      async remove() {
        removed.push(name);
        return name === "state" ? "/state has other files: mine." : null;
      },
    };
  });
  const run = await runCommand(["uninstall", ...argv], {
    ports: { installedParts: async () => parts },
    interactive: answers !== null,
    stdin: typed(answers ?? ""),
  });
  return { ...run, removed };
}

/** Yields input in pieces, as a terminal or a pipe does. */
async function* typed(text: string): AsyncGenerator<Uint8Array> {
  for (const piece of text.match(/[\s\S]{1,3}/g) ?? []) yield Buffer.from(piece);
}

test("each part is asked about, and the state only goes when its word is typed", async () => {
  const some = await uninstall([], "y\nn\nyes\ny\n");
  expect(some).toMatchObject({ code: 0, removed: ["service", "command"] });
  expect(some.stderr.match(/Remove the \w+/g)).toEqual([
    "Remove the service",
    "Remove the cache",
    "Remove the command",
  ]);
  expect(some.stderr).toContain('Permanently delete the state (/state)? Type "delete" to confirm:');
  expect(some.stdout).toContain("Kept the cache (/cache).\nKept the state (/state).\n");
  const all = await uninstall([], "y\ny\ndelete\ny\n");
  expect(all).toMatchObject({
    removed: [...names],
    stdout: expect.stringContaining("/state has other files: mine.\n"),
  });
  expect((await uninstall([], "")).removed, "input that ends is no yes").toEqual([]);
});

test("--yes keeps the state; --purge deletes it after its own confirmation, in a script too", async () => {
  expect((await uninstall(["--yes"], null)).removed).toEqual(["service", "cache", "command"]);
  expect((await uninstall(["--yes", "--purge"], null)).removed).toEqual(["service", "cache", "command"]);
  expect((await uninstall(["--yes", "--purge"], "y\n")).removed).toEqual(["service", "cache", "command"]);
  expect((await uninstall(["--yes", "--purge"], "delete\n")).removed).toEqual([...names]);
  expect(await uninstall([], null)).toMatchObject({ code: 2, removed: [], stderr: expect.stringContaining("--yes") });
  const json = await uninstall(["--yes", "--json"], null);
  expect(JSON.parse(json.stdout)).toMatchObject({ removed: { length: 3 }, kept: ["the state (/state)"] });
});

test("--dry-run removes nothing, and names what would stay", async () => {
  const run = await uninstall(["--dry-run"], null);
  expect(run).toMatchObject({ code: 0, removed: [], stderr: "" });
  expect(run.stdout).toBe(
    [
      "Would remove the service (/service).",
      "Would remove the cache (/cache).",
      "Would remove the command (/command).",
      "Would keep the state (/state). To delete it: postern uninstall --purge\n",
    ].join("\n"),
  );
  expect((await uninstall(["--dry-run", "--purge"], null)).stdout).toContain("Would remove the state");
  const none = await runCommand(["uninstall", "--yes"], { ports: { installedParts: async () => [] } });
  expect(none).toMatchObject({ code: 0, stdout: "Nothing of Postern was found on this machine.\n" });
});

test("a worktree that stays is named with the command that removes it; its path is one word of that command", async () => {
  const worktree = { path: "/code/$(touch there)", branch: "b", baseBranch: "main", repository: "/code/app" };
  const session = sessionSummary({ worktree: { ...worktree, removed: false, rescue: null } });
  const page = { sessions: [session], total: 1, limit: 200, offset: 0, hasMore: false, indexing: null };
  const gateway = await startScriptedGateway({ coding_list_sessions: [{ body: page }] });
  onTestFinished(() => gateway.close());
  const parts: readonly InstalledPart[] = [{ name: "gateway", what: "the gateway", remove: async () => null }];
  const ports = { installedParts: async () => parts, socketPath: async () => gateway.socketPath };
  const { stdout } = await runCommand(["uninstall", "--dry-run"], { ports });
  expect(stdout).toContain("To remove it: git worktree remove '/code/$(touch there)'\n");
});
