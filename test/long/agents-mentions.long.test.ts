import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { refuseOutsideMentions } from "../../src/sessions/prompt-text.ts";
import { configureOpenCode } from "../support/configure-opencode.ts";
import { errorCode } from "../support/error-code.ts";
import { createWorld, startGateway, type World } from "../support/gateway.ts";

// The agents themselves: every way of writing a mention that makes one read a file outside the folder is refused without coding:drive.

const waitMs = 60_000;

/** How a mention can be written: of a file next to the session's folder, by its name, and by its whole path. */
const forms: readonly ((name: string, path: string) => string)[] = [
  (name) => `see @../${name}`,
  (_, path) => `see @${path}`,
  (name) => `@../${name}`,
  (name) => `see @"../${name}" please`,
  (name) => `see @'../${name}' please`,
  (name) => `see @\`../${name}\``,
  (name) => `see @"../${name}`,
  (name) => `see (@../${name})`,
  (name) => `see @../${name}, and`,
  (name) => `see @../${name}.`,
  (name) => `see @../${name}${",".repeat(60)}`,
  (name) => `see @../${name}#L1-2`,
  (name) => `see @../${name}#L1`,
  (name) => `see @../${name}:1-2`,
  (name) => `see @src/../../${name}`,
  (name) => `see @none/../../${name}`,
  (name) => `see @none\u00a0x/../../${name}`,
  (name) => `see @none\u2028x/../../${name}`,
  (name) => `see @a"b c"/../../${name}`,
  (name) => `see @..\\/${name}`,
  (name) => `see @\\../${name}`,
  (_, path) => `see @file://${path}`,
  (_, path) => `see @file:${path}`,
  (name) => `see @~/${name}`,
  (name) => `see @$HOME/${name}`,
  (name) => `see @\${HOME}/${name}`,
  (name) => `see @..%2f${name}`,
  (name) => `see @../${name.toUpperCase()}`,
  (name) => `see @..\\${name}`,
  (name) => `see @../*${name.slice(1)}`,
  (name) => `see @../${name.replace(".txt", ".*")}`,
  (name) => `see @{../${name}}`,
  (name) => `see @[x](../${name})`,
  (name) => `see @[x](../${name} "x")`,
  (name) => `see [x](@../${name})`,
  (name) => `see \uff20../${name}`,
  (name) => `see \ufe6b../${name}`,
  (name) => `see @\uff0e\uff0e/${name}`,
  (name) => `see @..\uff0f${name}`,
  (name) => `see @\u200b../${name}`,
  (name) => `see @.\u200b./${name}`,
  (name) => `see @../${name.slice(0, 3)}\u00ad${name.slice(3)}`,
  (name) => `see me@../${name}`,
  (name) => `see @@../${name}`,
  (name) => `see\u3002@../${name}`,
  (name) => `see @links/${name}`,
  (name) => `first\n@../${name}\nlast`,
  (name) => `see /add-dir ../${name}`,
];

interface Written {
  readonly mark: string;
  readonly prompt: string;
}

async function writeForms(world: World): Promise<readonly Written[]> {
  await mkdir(join(world.repository, "src"));
  await mkdir(join(world.repository, "links"));
  return Promise.all(
    forms.map(async (form, index) => {
      const mark = `SECRET-${index}-END`;
      const name = `outside-${index}.txt`;
      // Not in the prompt, which the model is sent too.
      await writeFile(join(world.root, name), `${mark}\n${mark}\n`);
      await symlink(`../../${name}`, join(world.repository, "links", name));
      return { mark, prompt: form(name, join(world.root, name)) };
    }),
  );
}

describe.for(["claude-code", "codex", "gemini-cli", "opencode"] as const)("%s", (agent) => {
  test("what it reads outside its folder is refused to a caller without coding:drive", async () => {
    const agents = agent === "gemini-cli" ? "gemini" : agent === "opencode" ? "opencode" : true;
    const models = { OPENCODE_MODELS_PATH: join(import.meta.dirname, "../opencode/models.json") };
    const world = await createWorld({ agents, ...(agents === "opencode" ? { env: models } : {}) });
    if (agents === "opencode") await configureOpenCode(world);
    const written = await writeForms(world);
    const gateway = await startGateway(world);
    try {
      const { api } = gateway;
      const dir = world.repository;
      const model = agents === "gemini" ? { model: "gemini-2.5-pro" } : {};
      const { sessionId } = await api.ask({ agent, dir, prompt: "begin", waitMs, ...model });
      const read: string[] = [];
      for (const { mark, prompt } of written) {
        await api.post("/api/coding/coding_ask", { dir, sessionId, prompt, waitMs: 20_000, allowCommands: true });
        if (world.modelServer.requests.some(({ body }) => body.includes(mark))) read.push(prompt);
        else if ((await api.read(sessionId)).activity !== "idle") {
          await api.post("/api/coding/coding_interrupt", { sessionId });
        }
      }
      console.log(`${agent} reads: ${JSON.stringify(read)}`);
      if (agent === "claude-code") expect(read.length).toBeGreaterThan(3);
      for (const prompt of read) {
        const refused = await errorCode(refuseOutsideMentions(prompt, { dir, stateDir: world.home }));
        expect([prompt, refused]).toEqual([prompt, "prompt_not_text"]);
      }
    } finally {
      await gateway.close();
      await world.close();
    }
  });
});
