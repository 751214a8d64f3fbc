import { join } from "node:path";
import { parse } from "smol-toml";
import {
  type AgentCommand,
  type AgentCommands,
  builtIn,
  type CommandFile,
  customCommand,
  distinct,
  readCommandFiles,
} from "../command-files.ts";
import { geminiDir } from "./gemini-settings.ts";

/** As listed by 0.61.0, without those that open only a dialog of the terminal or end the session. */
const listed: readonly AgentCommand[] = [
  builtIn("/compress", "Replace the context with a summary"),
  builtIn("/clear", "Clear the screen and start a new session"),
  builtIn("/init", "Create a GEMINI.md for this project"),
  builtIn("/plan", "Switch to plan mode"),
  builtIn("/stats", "Show session statistics"),
  builtIn("/memory", "Show and manage GEMINI.md files"),
  builtIn("/tools", "List available tools"),
  builtIn("/mcp", "Manage MCP servers"),
  builtIn("/skills", "List and manage skills"),
  builtIn("/commands", "List custom commands"),
  builtIn("/model", "Manage the model"),
  builtIn("/about", "Show version information"),
  builtIn("/help", "Show help"),
];

/** `commands/a/b.toml` is `/a:b`. A command of the project replaces the user's. */
export const geminiCommands: AgentCommands = {
  listed,
  async custom({ dir, env }) {
    const files = [
      ...(await readCommandFiles(join(dir, ".gemini", "commands"), { source: "project", ending: ".toml" })),
      ...(await readCommandFiles(join(geminiDir(env), "commands"), { source: "user", ending: ".toml" })),
    ];
    return distinct(files.map(toCommand));
  },
};

function toCommand({ parts, text, source }: CommandFile): AgentCommand | null {
  return customCommand(`/${parts.join(":")}`, { description: descriptionOf(text) }, source);
}

function descriptionOf(text: string): string {
  try {
    const { description } = parse(text);
    return typeof description === "string" ? description : "";
  } catch {
    return ""; // invalid, which Gemini CLI reports, or longer than the part that was read
  }
}
