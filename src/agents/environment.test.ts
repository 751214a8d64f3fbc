import { expect, test } from "vitest";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import { agentEnvironment } from "./environment.ts";
import { builtInTemplates } from "./templates.ts";

const templates = builtInTemplates;

test("an agent gets the gateway's variables, but none of Postern's own and not the store's address", () => {
  const env = agentEnvironment(
    {
      HOME: "/home/me",
      PATH: "/bin",
      NODE_OPTIONS: "--max-old-space-size=512",
      POSTERN_HOME: "/x",
      POSTERN_DATABASE_URL: "postgres://secret",
      DATABASE_URL: "postgres://secret",
      GONE: undefined,
    },
    claudeCode,
    { templates, secrets: ["postgres://secret", ""] },
  );
  expect(env).toEqual({
    HOME: "/home/me",
    PATH: "/bin",
    NODE_OPTIONS: "--max-old-space-size=512",
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
  });
});

test("each agent keeps its own vendor's keys and loses the others'", () => {
  const keys = { ANTHROPIC_API_KEY: "a", ANTHROPIC_AUTH_TOKEN: "t", OPENAI_API_KEY: "o", CODEX_API_KEY: "c" };
  expect(Object.keys(agentEnvironment(keys, claudeCode, { templates }))).toEqual([
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "TERM",
    "COLORTERM",
  ]);
  expect(Object.keys(agentEnvironment(keys, codex, { templates }))).toEqual([
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "TERM",
    "COLORTERM",
  ]);
});

test("no variable shows that the agent runs inside another agent, another terminal or a service", () => {
  const env = agentEnvironment(
    {
      TERM: "dumb",
      CLAUDECODE: "1",
      CLAUDE_CODE_ENTRYPOINT: "cli",
      CLAUDE_CODE_SESSION_ID: "x",
      CLAUDE_CODE_SANDBOXED: "1",
      CODEX_THREAD_ID: "x",
      CODEX_SANDBOX_NETWORK_DISABLED: "1",
      TMUX: "/tmp/tmux",
      TERM_PROGRAM_VERSION: "3",
      COLUMNS: "20",
      NOTIFY_SOCKET: "/run/systemd/notify",
      // These are the user's own settings.
      CLAUDE_CONFIG_DIR: "/claude",
      CODEX_HOME: "/codex",
    },
    claudeCode,
    { templates },
  );
  expect(env).toEqual({
    CLAUDE_CONFIG_DIR: "/claude",
    CODEX_HOME: "/codex",
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
  });
});
