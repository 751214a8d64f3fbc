import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { World } from "./gateway.ts";

/** Configures the model server as a user would, in a folder that already has what the agent downloads at its first start. */
export async function configureOpenCode(
  world: Pick<World, "root" | "modelServer">,
  version = "1.18.33",
): Promise<void> {
  const folder = join(world.root, ".config", "opencode");
  await mkdir(join(folder, "node_modules"), { recursive: true });
  const fetched = { dependencies: { "@opencode-ai/plugin": version } };
  await writeFile(join(folder, "package.json"), JSON.stringify(fetched));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify({ packages: { "": fetched } }));
  const options = { baseURL: `${world.modelServer.url}/v1`, apiKey: "sk-scripted" };
  const models = { "model-a": { name: "A" }, "model-b": { name: "B" } };
  const permission = { "*": "ask", bash: "allow" };
  const provider = { local: { npm: "@ai-sdk/anthropic", name: "Local", options, models } };
  await writeFile(
    join(folder, "opencode.json"),
    // What it allows is asked for all the same.
    JSON.stringify({ provider, model: "local/model-a", small_model: "local/model-a", permission }),
  );
}
