import type { Situation } from "../../support/situations.ts";

const working = { activity: "working", status: "running", owner: "gateway", asks: [] } as const;
const idle = { activity: "idle", status: "running", owner: "gateway", asks: [] } as const;
const gone = { activity: null, status: "completed", owner: null, asks: [] } as const;

/**
 * The line of model and directory, below the composer. While Codex starts, or reads a session to resume it, a composer is already there
 * without this line, and keeps what is typed until then: `starting` is true.
 */
const ready = / · ~\/project/;

/** Follows the answer once a turn, its hooks included, has ended. */
const ended = /Worked for/;

/** What happens with Codex when a person is at its terminal, or its process ends. */
export const codexTerminalSituations: readonly Situation[] = [
  {
    title: "a prompt that a person types",
    steps: [
      { spawn: true },
      { untilScreen: ready },
      { says: { activity: "idle" } },
      { paste: "say $ says\nslow 2500\nlines 9" },
      { untilAsked: "$ says" },
      { says: working },
      { forMs: 1_000 },
      { untilScreen: /Line 9 of 9/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a prompt that a person types while a turn runs, and that steers it",
    steps: [
      { ask: "say $ first\nrun sleep 3" },
      { untilAsked: "$ first" },
      { says: working },
      // The command ends well before the answer does.
      { paste: "say $ second\nslow 5000\nlines 8" },
      { untilAsked: "$ second" },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /Line 8 of 8/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a command of the shell that a person types",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /• \$ says/ },
      { untilScreen: ended },
      { says: idle },
      { keys: "!sleep 4" },
      { forMs: 300 },
      { keys: "\r" },
      { untilScreen: /Running sleep/ },
      { says: working },
      { forMs: 2_000 },
      { untilScreen: /You ran sleep[\s\S]*Worked for/ },
      { says: idle },
    ],
  },
  {
    title: "a conversation that is compacted",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /• \$ says/ },
      { untilScreen: ended },
      { says: idle },
      { keys: "/compact" },
      { forMs: 500 },
      { keys: "\r" },
      { untilScreen: /Context compacted|Error running remote compact/ },
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
      { untilScreen: ready },
      { says: idle },
      { ask: "say $ is back\nslow 1500\nlines 9" },
      { untilAsked: "$ is back" },
      { says: working },
      { untilScreen: /Line 9 of 9/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "an agent that a person ends",
    steps: [
      { ask: "say $ says" },
      { untilScreen: /• \$ says/ },
      { untilScreen: ended },
      { says: idle },
      { keys: "/quit" },
      { forMs: 500 },
      { keys: "\r" },
      { untilGone: true },
      { says: gone },
    ],
  },
  {
    title: "a session that a person runs in a terminal of their own",
    steps: [
      { outside: "say $ says\nslow 4000\nlines 9" },
      { untilAsked: "$ says" },
      { says: { activity: "working", status: "running", owner: "external" } },
      { forMs: 1_500 },
      { untilScreen: /Line 9 of 9/ },
      { untilScreen: ended },
      { says: { activity: "idle", status: "running", owner: "external" } },
      { signal: "SIGKILL" },
      { untilGone: true },
      { says: gone },
    ],
  },
];
