import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { sessionSummary, startScriptedGateway } from "../../test/support/scripted-gateway.ts";

const sessionId = "0b0c0000-0000-4000-8000-000000000001";

async function run(argv: readonly string[], session: object = {}) {
  const gateway = await startScriptedGateway({
    [`sessions/${sessionId}`]: [{ body: sessionSummary({ sessionId, ...session }) }],
    labels: [{ body: { labels: [{ label: "red", sessions: 2 }], truncated: false } }],
    coding_list_sessions: [{ body: { sessions: [], total: 0, limit: 20, offset: 0, hasMore: false, indexing: null } }],
  });
  onTestFinished(() => gateway.close());
  const ports = { socketPath: async () => gateway.socketPath };
  const { code, stdout, stderr } = await runCommand(["coding", ...argv], { ports });
  return { code, stdout, stderr, sent: gateway.requests.map(({ body }) => body) };
}

test("renames, pins, archives and labels a session, and each of it can be undone", async () => {
  for (const [argv, body, session, printed] of [
    [["rename", sessionId, "The", "title"], { title: "The title" }, { title: "The title" }, "is: The title"],
    [["rename", sessionId, "--undo"], { title: null }, {}, "is: (none)"],
    [["pin", sessionId], { pinned: true }, { pinned: true }, "Pinned"],
    [["pin", sessionId, "--undo"], { pinned: false }, {}, "Unpinned"],
    [["archive", sessionId], { archived: true }, { archived: true }, "Archived"],
    [["archive", sessionId, "--undo"], { archived: false }, {}, "Unarchived"],
    [["label", sessionId, "a", "b c"], { addLabels: ["a", "b c"] }, { labels: ["a", "b c"] }, "labels: a, b c"],
    [["label", sessionId, "a", "--remove"], { removeLabels: ["a"] }, {}, "no labels"],
  ] as const) {
    const done = await run(argv, session);
    expect(done, argv.join(" ")).toMatchObject({ code: 0, sent: [body], stdout: expect.stringContaining(printed) });
    expect(JSON.parse((await run([...argv, "--json"])).stdout)).toMatchObject({ sessionId });
  }
});

test("a rename without a title, or with both, changes nothing", async () => {
  for (const argv of [
    ["rename", sessionId],
    ["rename", sessionId, "x", "--undo"],
  ]) {
    expect(await run(argv)).toMatchObject({ code: 2, sent: [] });
  }
});

test("lists labels, and sessions by what was noted", async () => {
  expect((await run(["labels"])).stdout).toContain("red");
  const listed = async (...argv: readonly string[]) => (await run(["list", ...argv])).sent;
  expect(await listed("--label", "red", "--pinned")).toEqual([{ label: "red", pinned: true }]);
  expect(await listed("--archived")).toEqual([{ archived: true }]);
  expect(await listed("--all")).toEqual([{ archived: "any" }]);
  expect(await run(["list", "--all", "--archived"])).toMatchObject({ code: 2, sent: [] });
});
