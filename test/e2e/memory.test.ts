import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { EntityPage } from "../../src/wire/logs.ts";
import type { World } from "../support/gateway.ts";
import { close, currentFactsOf, entriesOf, record, turnsOf } from "../support/remembered.ts";
import { useGateway } from "../support/use-gateway.ts";

// Sessions of the real agents, taken into the memory.

const keys = {
  PLANTED_GITHUB: "ghp_Abcdefghijklmnopqrstuvwxyz0123456789",
  PLANTED_VENDOR: "sk-ant-api03-Abcdefghijklmnopqrstuvwxyz0123",
  PLANTED_TOKEN: "plain-value-of-a-token",
};
const used = useGateway({ agents: true, env: keys, config: { memory: { record: "turn" } } });
const waitMs = 30_000;
const patience = { timeout: 20_000, interval: 100 };

/** What programs send to a model besides the user's text. */
async function plantContext(world: World): Promise<void> {
  const hook = { type: "command", command: "echo 'Decision: planted = by a hook'" };
  const settings = { hooks: { UserPromptSubmit: [{ hooks: [hook] }], SessionStart: [{ hooks: [hook] }] } };
  const files = {
    [join(world.repository, "CLAUDE.md")]: "Decision: planted = by CLAUDE.md\n",
    [join(world.repository, "AGENTS.md")]: "Decision: planted = by AGENTS.md\n",
    [join(world.root, "claude", "settings.json")]: JSON.stringify(settings),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

const agents = ["claude-code", "codex"] as const;

/** Work of every kind, on its own branch. */
function workOf(agent: (typeof agents)[number], dir: string): string {
  const git = "git -c user.name=T -c user.email=t@example.invalid";
  const task = {
    description: "sub",
    prompt: "say Decision: planted = by a sub-agent",
    subagent_type: "general-purpose",
  };
  const readme = join(dir, "README.md");
  const ofClaude = [
    `call Edit ${JSON.stringify({ file_path: readme, old_string: "# Scratch", new_string: "# Scratches" })}`,
    `call Agent ${JSON.stringify(task)}`,
  ];
  return [
    `Decision: the timeout of ${agent} = 30 s`,
    `My key is ${keys.PLANTED_GITHUB}, and Authorization: Bearer ${keys.PLANTED_VENDOR}`,
    `write src/of-${agent}.txt with exact content`,
    "run echo $PLANTED_GITHUB $PLANTED_VENDOR $ANTHROPIC_API_KEY $OPENAI_API_KEY; env | grep PLANTED_TOKEN",
    "run sh -c 'exit 7'",
    `run git switch --quiet main; git switch -c work/${agent}`,
    `run ${git} commit --allow-empty -m second`,
    ...(agent === "claude-code" ? [`call Read ${JSON.stringify({ file_path: readme })}`, ...ofClaude] : []),
    "say all done",
  ].join("\n");
}

describe.for(agents)("%s", (agent) => {
  test("what was asked, decided, changed and run is remembered after each turn; nothing of injected context, and no key", async () => {
    const { api } = used.gateway;
    const dir = used.world.repository;
    await plantContext(used.world);
    const first = await api.ask({ agent, dir, prompt: workOf(agent, dir), permissionMode: "all", waitMs });
    const { sessionId } = first;
    await expect.poll(() => turnsOf(api, sessionId), patience).toEqual([0, 1]);
    for (const alias of first.sessionAliases) expect(await turnsOf(api, alias), "by its first name").toEqual([0, 1]);

    const facts = await currentFactsOf(api, `Session:${sessionId}`);
    const commit = /\[work\/\S+ ([0-9a-f]{7,})\] second/.exec(JSON.stringify(first.turns))?.[1];
    for (const expected of [
      `by_agent ${agent}`,
      `in_repository Repository:${dir}`,
      `current_branch Branch:work/${agent}`,
      `committed Commit:${commit}`,
      `edited File:${dir}/src/of-${agent}.txt`,
      "ran Command:sh -c 'exit 7'",
      `decided Decision:timeout of ${agent}`,
      ...(agent === "claude-code" ? [`read File:${dir}/README.md`, `edited File:${dir}/README.md`] : []),
    ]) {
      expect(facts).toContain(expected);
    }
    expect(await currentFactsOf(api, "Command:sh -c 'exit 7'")).toEqual(["last_exit 7"]);
    expect(await currentFactsOf(api, `Decision:timeout of ${agent}`)).toEqual(["status 30 s"]);

    await api.ask({ dir, sessionId, prompt: `say Decision: the timeout of ${agent} = 60 s`, waitMs });
    await expect.poll(() => turnsOf(api, sessionId), patience).toEqual([0, 1, 2, 3]);
    expect(await currentFactsOf(api, `Decision:timeout of ${agent}`)).toEqual(["status 60 s"]);

    const { body: decisions } = await api.get<EntityPage>("/api/v1/entities?type=Decision&q=planted");
    expect(decisions.entities).toEqual([]);
    const entries = await entriesOf(api, sessionId);
    expect(
      entries.every(({ source, status, dir: where }) => source === "session" && status === "ready" && where === dir),
    ).toBe(true);
    const kept = JSON.stringify(entries);
    expect(kept).not.toContain("planted = by CLAUDE.md");
    expect(kept).not.toContain("planted = by AGENTS.md");
    expect(kept).not.toContain("planted = by a hook");
    expect(kept.match(/<(system-reminder|environment_context|user_instructions)/g)).toBeNull();
    const environment = Object.entries(used.world.env).filter(([name]) => /KEY|PLANTED/.test(name));
    const planted = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", ...Object.keys(keys)];
    expect(environment.map(([name]) => name)).toEqual(expect.arrayContaining(planted));
    for (const [name, value] of environment) expect(kept, name).not.toContain(value);
    const stored = await storedWords(used.world);
    expect(stored).toContain(`timeout of ${agent}`);
    for (const [name, value] of environment) expect(stored, name).not.toContain(value.toLowerCase());

    expect((await record(api, sessionId)).body, "all is there").toEqual({ outcome: "known", logIds: [], turns: 0 });
    for (const { logId } of entries) {
      const deleted = await api.post(`/api/v1/logs/${logId}/delete`, { id: logId });
      expect(deleted.status).toBe(200);
    }
    await api.ask({ dir, sessionId, prompt: "say after all", waitMs });
    await close(api, sessionId);
    await expect.poll(() => turnsOf(api, sessionId), patience).toEqual([4, 5]);
    expect(await currentFactsOf(api, `Decision:timeout of ${agent}`)).toEqual([]);
    expect((await record(api, sessionId)).body).toMatchObject({ outcome: "recorded", turns: 4 });
    expect((await turnsOf(api, sessionId)).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await currentFactsOf(api, `Decision:timeout of ${agent}`)).toEqual(["status 60 s"]);
  });
});

/** All text in the tables of the memory, in lower case as its words are. */
async function storedWords({ home }: World): Promise<string> {
  const { db, close: closeStore } = await openDatabase({ url: null, path: join(home, "postern.db"), log: silentLog });
  const tables = ["log_entries", "log_chunks", "log_words", "entities", "statements", "facts"] as const;
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()));
  await closeStore();
  return JSON.stringify(rows).toLowerCase();
}
