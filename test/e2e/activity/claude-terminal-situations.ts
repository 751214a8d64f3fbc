import type { Situation } from "../../support/situations.ts";

const working = { activity: "working", status: "running", owner: "gateway", asks: [] } as const;
const idle = { activity: "idle", status: "running", owner: "gateway", asks: [] } as const;
const asksLeave = { activity: "needs_permission", asks: ["permission"] } as const;
const gone = { activity: null, status: "completed", owner: null, asks: [] } as const;

/** Empty, below whatever was said before. */
const composer = /^❯\s*$/m;

/** Both agents show it while a turn runs, its hooks included. */
const busy = /esc to interrupt/;

/** What happens in Claude Code besides callers' prompts: a person's input in its terminal, and its own actions. */
export const claudeTerminalSituations: readonly Situation[] = [
  {
    title: "a prompt that a person types while a turn runs, and that the agent queues",
    steps: [
      { ask: "say $ first\nslow 2500\nlines 9" },
      { untilAsked: "$ first" },
      { says: working },
      { paste: "say $ second\nslow 3000\nlines 8" },
      { untilAsked: "$ second" },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /Line 8 of 8/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a prompt that a person types",
    steps: [
      { spawn: true },
      { untilScreen: composer },
      { says: { activity: "idle" } },
      { paste: "say $ says\nslow 2500\nlines 9" },
      { untilAsked: "$ says" },
      { says: working },
      { forMs: 1_000 },
      { untilScreen: /Line 9 of 9/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a command of the shell that a person types",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /● \$ says/ },
      { untilScreenLacks: busy },
      { says: idle },
      { keys: "!" },
      { forMs: 200 },
      { keys: "sleep 4" },
      { forMs: 300 },
      { keys: "\r" },
      { untilScreen: /! sleep 4[\s\S]*Running/ },
      { says: working },
      { forMs: 2_000 },
      { untilScreen: /● ECHO/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a dialog of the agent's own",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /● \$ says/ },
      { untilScreenLacks: busy },
      { says: idle },
      { keys: "/model" },
      { forMs: 300 },
      { keys: "\r" },
      { untilScreen: /Select model/ },
      { says: { activity: "needs_answer", status: "running", asks: [] } },
      { forMs: 1_000 },
      { keys: "\u001b" },
      { untilScreenLacks: /Select model/ },
      { says: idle },
    ],
  },
  {
    title: "a conversation that is compacted",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /● \$ says/ },
      { untilScreenLacks: busy },
      { says: idle },
      { keys: "/compact" },
      { forMs: 300 },
      { keys: "\r" },
      { untilScreen: /Compacted/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a sub-agent in the background, and its permission",
    steps: [
      {
        ask: `say $ says\ncall Agent {"description":"sub","prompt":"say $ sub\\nslow 3000\\nrun touch $.txt","subagent_type":"general-purpose","run_in_background":true}`,
      },
      { untilScreen: /Do you want to/ },
      { says: asksLeave },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilFile: "$.txt" },
      { says: working },
      { forMs: 1_000 },
      { untilScreen: /Agent "sub" finished/ },
      { forMs: 800 },
      { says: idle },
    ],
  },
  {
    title: "a command in the background",
    steps: [
      { ask: `say $ says\ncall Bash {"command":"sleep 60","run_in_background":true,"description":"x"}` },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
      { forMs: 1_500 },
    ],
  },
  {
    title: "a process that is stopped for a while in the middle of a turn",
    steps: [
      { ask: "say $ says\nslow 3000\nlines 9" },
      { untilAsked: "$ says" },
      { says: working },
      { signal: "SIGSTOP" },
      { says: working },
      { forMs: 2_500 },
      { signal: "SIGCONT" },
      // What it draws again leaves some of the old lines behind.
      { untilScreen: /Line 9 of 9[\s\S]* · done / },
      { says: idle },
    ],
  },
  {
    title: "a process that is killed in the middle of a turn, and resumed",
    steps: [
      { ask: "say $ says\nslow 20000\nlines 50" },
      { untilScreen: /Line 2 of 50/ },
      { says: working },
      { signal: "SIGKILL" },
      { untilGone: true },
      { says: gone },
      { forMs: 1_000 },
      { spawn: true },
      { untilScreen: composer },
      { says: idle },
      { ask: "say $ is back\nslow 1500\nlines 9" },
      { untilAsked: "$ is back" },
      { says: working },
      { untilScreen: /Line 9 of 9/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "an agent that a person ends",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /● \$ says/ },
      { untilScreenLacks: busy },
      { says: idle },
      { keys: "/exit" },
      { forMs: 300 },
      { keys: "\r" },
      { untilGone: true },
      { says: gone },
    ],
  },
  {
    title: "a session that a person runs in a terminal of their own, with a permission and a question",
    steps: [
      { outside: "say $ says\nslow 3000\nlines 9\nwrite $.txt with x\nask Which way?" },
      { untilScreen: /Do you want to/ },
      { says: { activity: "needs_permission", status: "running", owner: "external" } },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilScreen: /Enter to select/ },
      { says: { activity: "needs_answer", status: "running", owner: "external" } },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilScreenLacks: /Enter to select/ },
      { says: { activity: "working", status: "running", owner: "external" } },
      { untilScreen: /Line 9 of 9/ },
      { untilScreenLacks: busy },
      { says: { activity: "idle", status: "running", owner: "external" } },
      { signal: "SIGKILL" },
      { untilGone: true },
      { says: gone },
    ],
  },
];
