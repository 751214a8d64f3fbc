import type { AgentTemplate, Environment } from "./template.ts";

// Set by the terminal or service manager around the gateway. An agent runs in another terminal, and would draw, notify or report in the
// wrong place.
const surroundings = [
  "COLUMNS",
  "LINES",
  "TMUX",
  "TMUX_PANE",
  "STY",
  "WINDOW",
  "TERM_PROGRAM*",
  "TERMINAL_EMULATOR",
  "LC_TERMINAL*",
  "VTE_VERSION",
  "WT_SESSION",
  "WT_PROFILE_ID",
  "KITTY_*",
  "ALACRITTY_*",
  "WEZTERM_*",
  "GHOSTTY_*",
  "KONSOLE_*",
  "ITERM_*",
  "ZELLIJ*",
  "VSCODE_*",
  "NOTIFY_SOCKET",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
  "LISTEN_FDS",
  "LISTEN_FDNAMES",
  "LISTEN_PID",
  "INVOCATION_ID",
  "JOURNAL_STREAM",
];

/**
 * The environment of an agent: the gateway's at the time of the spawn, without Postern's own variables, other vendors' API keys, and
 * anything that makes the agent believe that it runs inside another agent or terminal.
 * @param template null for programs that are not agents, which receive no vendor's key
 */
export function agentEnvironment(
  gatewayEnv: Readonly<Record<string, string | undefined>>,
  template: AgentTemplate | null,
  options: {
    readonly templates: readonly AgentTemplate[];
    /** Values that no agent may see under any name, such as the store's address. */
    readonly secrets?: readonly string[];
  },
): Environment {
  const others = options.templates.flatMap((other) => other.keyVariables);
  const patterns = [
    "POSTERN_*",
    ...others.filter((name) => template?.keyVariables.includes(name) !== true),
    ...options.templates.flatMap((other) => other.nestingVariables),
    ...surroundings,
  ];
  const secrets = (options.secrets ?? []).filter((secret) => secret !== "");
  const kept = Object.entries(gatewayEnv).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !patterns.some((pattern) => matches(entry[0], pattern)) && !secrets.includes(entry[1]),
  );
  return { ...Object.fromEntries(kept), TERM: "xterm-256color", COLORTERM: "truecolor" };
}

function matches(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
