import { join } from "node:path";
import {
  type AgentCommand,
  type AgentCommands,
  builtIn,
  type CommandFile,
  customCommand,
  distinct,
  firstLine,
  frontMatter,
  projectFolders,
  readCommandFiles,
} from "../command-files.ts";
import { configDir } from "./claude-config.ts";

/**
 * As listed by 2.1.329, without those that open only a dialog of the terminal or end the session. `/clear` continues in a new session.
 * `/model` is not sendable: it also stores the model as the user's default, and looks like a dialog for some seconds.
 */
const listed: readonly AgentCommand[] = [
  builtIn("/compact", "Free up context by summarizing the conversation so far", {
    argumentHint: "[instructions]",
    sendable: "with_or_without_arguments",
  }),
  builtIn("/clear", "Start a new session with empty context", { sendable: "without_arguments" }),
  builtIn("/model", "Change the model, also the default for new sessions", { argumentHint: "<model>" }),
  builtIn("/code-review", "Review the current changes"),
  builtIn("/security-review", "Review the current changes for security problems"),
  builtIn("/init", "Create a CLAUDE.md for this repository"),
  builtIn("/plan", "Turn on plan mode or view the plan"),
  builtIn("/context", "Show what uses the context"),
  builtIn("/usage", "Show session cost, plan usage and activity"),
  builtIn("/effort", "Set the model's effort level", { argumentHint: "<level>" }),
  builtIn("/goal", "Set a goal that Claude checks before it stops", { argumentHint: "<goal>" }),
  builtIn("/rename", "Rename the conversation", { argumentHint: "<name>" }),
  builtIn("/memory", "Edit CLAUDE.md files and memory settings"),
  builtIn("/permissions", "Manage permission rules for tools"),
  builtIn("/mcp", "Manage MCP servers"),
  builtIn("/agents", "List subagents"),
  builtIn("/skills", "List available skills"),
  builtIn("/tasks", "Show background work"),
  builtIn("/status", "Show version, account, model and warnings"),
  builtIn("/config", "Open the settings"),
  builtIn("/export", "Export the conversation"),
  builtIn("/help", "Show help and available commands"),
];

/** A skill's name is its folder's; `commands/a/b.md` is `/a:b` (measured with 2.1.329). */
export const claudeCommands: AgentCommands = {
  listed,
  async custom({ dir, env, reads }) {
    const user = { folder: configDir(env), source: "user" as const };
    const project = (await projectFolders(dir, reads)).map((path) => ({
      folder: join(path, ".claude"),
      source: "project" as const,
    }));
    const files = await Promise.all(
      [user, ...project].map(async ({ folder, source }) => [
        ...(await readCommandFiles(join(folder, "skills"), { source, ending: ".md", only: "SKILL.md" })),
        ...(await readCommandFiles(join(folder, "commands"), { source, ending: ".md" })),
      ]),
    );
    return distinct(files.flat().map(toCommand));
  },
};

function toCommand({ parts, text, source }: CommandFile): AgentCommand | null {
  const { fields, body } = frontMatter(text);
  if (fields.get("user-invocable") === "false") return null;
  const argumentHint = fields.get("argument-hint") ?? "";
  return customCommand(
    `/${parts.join(":")}`,
    {
      description: fields.get("description") ?? firstLine(body),
      argumentHint,
      // Custom commands start a turn, and the hook reports them as typed (2.1.329).
      sendable: "with_or_without_arguments",
    },
    source,
  );
}
