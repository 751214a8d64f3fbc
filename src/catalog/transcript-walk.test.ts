import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { codex } from "../agents/codex/codex.ts";
import { createCustomTemplate, customAgentSchema } from "../agents/custom/custom.ts";
import type { AgentTemplate, Environment } from "../agents/template.ts";
import { newUuid } from "../core/ids.ts";
import {
  type CatalogSource,
  type FoundFile,
  pathKind,
  transcriptAt,
  type WalkOptions,
  walkTranscripts,
} from "./transcript-walk.ts";

function sourceOf(template: AgentTemplate, env: Environment): CatalogSource {
  const [place] = template.transcriptPlaces(env);
  if (place === undefined) throw new Error("It has no transcripts.");
  return { agent: template.name, format: template.transcriptFormat ?? "claude", ...place };
}

function custom(path: string): AgentTemplate {
  const transcript = { format: "claude", path };
  const agent = { name: "mine", binary: "mine", startArgs: ["{sessionId}"], transcript };
  return createCustomTemplate(customAgentSchema.parse(agent));
}

/** Ids by path below the root, in the order of the walk. */
function walk(source: CatalogSource, options: WalkOptions = {}): readonly (readonly [string, string])[] {
  const found: [string, string][] = [];
  const file = ({ path }: FoundFile): void => {
    expect(pathKind(source, path)).toEqual({ kind: "file" });
    const sessionId = transcriptAt(source, path)?.sessionId;
    if (sessionId !== undefined) found.push([relative(source.root, path), sessionId]);
  };
  walkTranscripts(source, { file, folder: () => undefined, closed: () => undefined }, options);
  return found;
}

async function write(root: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), "{}\n");
  }
}

test("a walk finds exactly the transcripts that a template finds by id", async () => {
  const root = await makeTempFolder();
  const [one, two, three] = [newUuid(), newUuid(), newUuid()];
  const env = { CLAUDE_CONFIG_DIR: join(root, "claude"), CODEX_HOME: join(root, "codex") };
  const rollout = `rollout-2026-01-02T03-04-05-${three}.jsonl`;
  const claude = [`projects/-a/${one}.jsonl`, `projects/-b/${two}.jsonl`];
  await write(env.CLAUDE_CONFIG_DIR, [
    ...claude,
    "projects/-a/agent-1234.jsonl",
    "projects/-a/notes.jsonl",
    `projects/-a/${one}/subagents/${newUuid()}.jsonl`,
    `projects/${newUuid()}.jsonl`,
    `projects/-a/${newUuid()}.jsonl.bak`,
  ]);
  await write(env.CODEX_HOME, [
    `sessions/2026/01/02/${rollout}`,
    `sessions/2026/01/02/rollout-2026-01-02T03-04-06-${one}.jsonl.zst`,
    `sessions/2026/01/${rollout}`,
    `sessions/archive/01/02/${rollout}`,
    `sessions/2026/01/02/${three}.jsonl`,
  ]);
  await mkdir(join(env.CLAUDE_CONFIG_DIR, `projects/-a/${newUuid()}.jsonl`));
  for (const [template, ids] of [
    [claudeCode, [one, two]],
    [codex, [one, three]],
  ] as const) {
    const source = sourceOf(template, env);
    const found = walk(source);
    expect(found.map(([, id]) => id).toSorted()).toEqual([...ids].toSorted());
    for (const [path, id] of found) expect(await template.findTranscript(id, env)).toBe(join(source.root, path));
  }
});

test.each([
  ["~/.mine/chats/{sessionId}.json", ".mine/chats/s-1.json"],
  ["~/.mine/*/log/{sessionId}.v1.jsonl", ".mine/any one/log/s-1.v1.jsonl"],
  ["~/.mine/{sessionId}/messages.jsonl", ".mine/s-1/messages.jsonl"],
  ["~/.mine/chat-{sessionId}/*/[x].jsonl", ".mine/chat-s-1/y/[x].jsonl"],
])("an agent of the configuration has its transcripts at %s", async (pattern, path) => {
  const root = await makeTempFolder();
  const template = custom(pattern);
  const env = { HOME: root };
  await write(root, [path, `${path}.bak`, `other-${path}`, path.replace("s-1", ".hidden")]);
  const source = sourceOf(template, env);
  expect(walk(source).map(([name, id]) => [join(source.root, name), id])).toEqual([[join(root, path), "s-1"]]);
  expect(await template.findTranscript("s-1", env)).toBe(join(root, path));
});

test("a walk follows links to folders, and stops at cycles", async () => {
  const root = await makeTempFolder();
  const env = { CODEX_HOME: root };
  await write(root, [`sessions/2026/01/02/rollout-x-${newUuid()}.jsonl`]);
  await symlink(join(root, "sessions/2026"), join(root, "sessions/2027"));
  await symlink(join(root, "sessions"), join(root, "sessions/2026/01/03"));
  expect(walk(sourceOf(codex, env))).toHaveLength(2);
});

test("the newest days come first on request, up to the wanted number of files", async () => {
  const root = await makeTempFolder();
  const env = { CODEX_HOME: root };
  const days = ["2025/12/31", "2026/02/09", "2026/02/10", "2026/01/30"];
  await write(
    root,
    days.map((day) => `sessions/${day}/rollout-x-${newUuid()}.jsonl`),
  );
  const found = walk(sourceOf(codex, env), { newestFirst: true, maxFiles: 3 });
  expect(found.map(([path]) => dirname(path))).toEqual(["2026/02/10", "2026/02/09", "2026/01/30"]);
});
