import { homedir } from "node:os";
import { join } from "node:path";
import {
  type AgentCommand,
  type AgentCommands,
  builtIn,
  type CommandFile,
  customCommand,
  distinct,
  frontMatter,
  projectFolders,
  readCommandFiles,
} from "../command-files.ts";
import type { Environment } from "../template.ts";

/** As listed by 1.18.33, without those that open only a dialog of the terminal or end the session. */
const listed: readonly AgentCommand[] = [
  builtIn("/compact", "Summarize the conversation to free up context"),
  builtIn("/new", "Start a new session"),
  builtIn("/init", "Create an AGENTS.md for this repository"),
  builtIn("/review", "Review changes"),
  builtIn("/undo", "Undo the last message and its changes"),
  builtIn("/redo", "Redo what was undone"),
  builtIn("/share", "Share the session"),
  builtIn("/models", "Choose the model"),
  builtIn("/agents", "Choose the agent"),
  builtIn("/status", "Show the status"),
  builtIn("/help", "Show help"),
];

/** `command/a/b.md` is `/a/b`, and so is `commands/a/b.md`. */
export const openCodeCommands: AgentCommands = {
  listed,
  async custom({ dir, env, reads }) {
    const project = (await projectFolders(dir, reads)).map((path) => ({
      folder: join(path, ".opencode"),
      source: "project" as const,
    }));
    const user = { folder: configFolder(env), source: "user" as const };
    const files = await Promise.all(
      [...project, user].map(async ({ folder, source }) => [
        ...(await readCommandFiles(join(folder, "command"), { source, ending: ".md" })),
        ...(await readCommandFiles(join(folder, "commands"), { source, ending: ".md" })),
      ]),
    );
    return distinct(files.flat().map(toCommand));
  },
};

function configFolder(env: Environment): string {
  return join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "opencode");
}

function toCommand({ parts, text, source }: CommandFile): AgentCommand | null {
  const description = frontMatter(text).fields.get("description") ?? "";
  return customCommand(`/${parts.join("/")}`, { description }, source);
}
