import { homedir } from "node:os";
import { join } from "node:path";
import {
  type AgentCommand,
  type AgentCommands,
  builtIn,
  customCommand,
  distinct,
  frontMatter,
  projectFolders,
  readCommandFiles,
} from "../command-files.ts";
import type { Environment } from "../template.ts";

export function codexHome(env: Environment): string {
  return env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex");
}

/**
 * As listed by 0.169.0, without those that open only a dialog of the terminal or end the session. `/compact` with arguments counts as text.
 * `/new` and `/model` open dialogs. After `/clear`, the new session has no id until its first prompt.
 */
const listed: readonly AgentCommand[] = [
  builtIn("/compact", "Summarize the conversation to free up context", { sendable: "without_arguments" }),
  builtIn("/clear", "Start a new chat and clear the terminal", { sendable: "without_arguments" }),
  builtIn("/new", "Start a new chat"),
  builtIn("/model", "Choose the model and its reasoning effort"),
  builtIn("/review", "Review the current changes and find problems"),
  builtIn("/init", "Create an AGENTS.md for this repository"),
  builtIn("/plan", "Switch to plan mode"),
  builtIn("/goal", "Set or view the goal of a long task", { argumentHint: "<goal>" }),
  builtIn("/diff", "Show the Git diff, with untracked files"),
  builtIn("/status", "Show the session's configuration and token usage"),
  builtIn("/permissions", "Choose what Codex can do without asking"),
  builtIn("/skills", "List and use skills"),
  builtIn("/mcp", "List MCP tools"),
  builtIn("/ps", "List background terminals"),
  builtIn("/fork", "Continue in a copy of this chat"),
  builtIn("/rename", "Rename the chat", { argumentHint: "<name>" }),
];

/** Skills, which a prompt mentions anywhere with `$name`; 0.169.0 has no custom `/` commands. A skill's name is in its front matter (measured). */
export const codexCommands: AgentCommands = {
  listed,
  async custom({ dir, env, reads }) {
    const user = [join(codexHome(env), "skills"), join(env["HOME"] || homedir(), ".agents", "skills")];
    const project = (await projectFolders(dir, reads)).flatMap((path) => [
      join(path, ".agents", "skills"),
      join(path, ".codex", "skills"),
    ]);
    const folders = [
      ...project.map((folder) => ({ folder, source: "project" as const })),
      ...user.map((folder) => ({ folder, source: "user" as const })),
    ];
    const files = await Promise.all(
      folders.map(({ folder, source }) => readCommandFiles(folder, { source, ending: ".md", only: "SKILL.md" })),
    );
    return distinct(
      files.flat().map(({ text, source }) => {
        const { fields } = frontMatter(text);
        return customCommand(`$${fields.get("name") ?? ""}`, { description: fields.get("description") ?? "" }, source);
      }),
    );
  },
};
