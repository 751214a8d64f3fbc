import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { samePrompt } from "../../src/sessions/prompts.ts";
import type { AskOutput } from "../../src/wire/coding.ts";
import { commandPrompt, type MeasuredAgent, measuredAgents, passes } from "../support/command-prompts.ts";
import { configureOpenCode } from "../support/configure-opencode.ts";
import { createWorld, startGateway, type World } from "../support/gateway.ts";

// The agents themselves: what the rule lets pass reaches the model as text, and nothing runs.

const count = Number(process.env["POSTERN_AGENT_PROMPTS"] ?? 300);
const waitMs = 60_000;

/** Other first characters that mean something to some agent: memory, the background, skills, quotes. */
const signs = Array.from("#&$%>:;,.*+=~^|`'\"(){}[]<\\-_").map((sign) => `${sign} touch made-by-command`);
const others = [
  "$deploy now",
  "please $deploy now",
  "please /deploy now",
  "hello\n!touch x",
  "logout",
  "clear",
  "//deploy",
];

/** All that pass of what is made of the agent's commands, until there are enough. */
function promptsFor(agent: MeasuredAgent): readonly string[] {
  const texts = [...signs, ...others].filter((text) => passes(text, agent.template));
  // Far apart, so that few of them share a character.
  for (let index = 0; texts.length < count; index += 4_099) {
    const made = commandPrompt(index);
    // A mention of a file in the folder is read, and comes behind the prompt.
    if (made.agent !== agent || made.text.includes("@README.md")) continue;
    if (passes(made.text, agent.template)) texts.push(made.text);
  }
  return texts.slice(0, count);
}

/** A command of the repository for each agent: the model is sent its text, and files tell of the others. */
async function plantCommands(world: World): Promise<void> {
  const body = "COMMAND-RAN";
  const files = {
    // The description is in every request.
    ".claude/commands/deploy.md": `---\ndescription: ships\n---\n${body}`,
    ".gemini/commands/deploy.toml": `prompt = "${body}"`,
    ".opencode/command/deploy.md": body,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(world.repository, name)), { recursive: true });
    await writeFile(join(world.repository, name), `${text}\n`);
  }
}

describe.for(measuredAgents.map((agent) => [agent.template.name, agent] as const))("%s", ([name, agent]) => {
  test(`of ${count} prompts that pass, sent into one session, none runs a command`, async () => {
    const which = { "gemini-cli": "gemini", opencode: "opencode" } as const;
    const agents = name === "gemini-cli" || name === "opencode" ? which[name] : true;
    const models = { OPENCODE_MODELS_PATH: join(import.meta.dirname, "../opencode/models.json") };
    const world = await createWorld({ agents, ...(agents === "opencode" ? { env: models } : {}) });
    await plantCommands(world);
    if (agents === "opencode") await configureOpenCode(world);
    const gateway = await startGateway(world);
    try {
      const { api } = gateway;
      const dir = world.repository;
      const model = agents === "gemini" ? { model: "gemini-2.5-pro" } : {};
      const first = await api.ask({ agent: name, dir, prompt: "begin", waitMs, ...model });
      const { sessionId, pid } = first;
      const files = await readdir(dir);
      const faults: string[] = [];
      const startedAt = Date.now();
      for (const prompt of promptsFor(agent)) {
        const before = world.modelServer.requests.length;
        const asked: AskOutput = await api.ask({ dir, sessionId, prompt, waitMs });
        const got = world.modelServer.requests.slice(before);
        const isText = got.some((request) => samePrompt(prompt, request.prompt ?? ""));
        const isSame = asked.sessionId === sessionId && asked.pid === pid && asked.delivered === true;
        if (!isText || !isSame || got.some(({ body }) => body.includes("COMMAND-RAN"))) {
          faults.push(JSON.stringify({ prompt, isText, delivered: asked.delivered, sessionId: asked.sessionId }));
        }
        if (faults.length > 20) break;
      }
      expect(faults).toEqual([]);
      expect(await readdir(dir)).toEqual(files);
      console.log(`${name}: ${count} prompts in ${Math.round((Date.now() - startedAt) / 1_000)} s, none ran`);
    } finally {
      await gateway.close();
      await world.close();
    }
  });
});
