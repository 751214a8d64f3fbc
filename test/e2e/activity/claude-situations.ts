import type { Situation } from "../../support/situations.ts";

const working = { activity: "working", status: "running", owner: "gateway", asks: [] } as const;
const idle = { activity: "idle", status: "running", owner: "gateway", asks: [] } as const;
const asksLeave = { activity: "needs_permission", asks: ["permission"] } as const;
/** Seconds since the epoch, some hours from now. */
export const limitResets = Math.floor(Date.now() / 1000) + 3 * 3600;

/** Both agents show it while a turn runs, its hooks included. */
const busy = /esc to interrupt/;

/** What happens with Claude Code. */
export const claudeSituations: readonly Situation[] = [
  {
    title: "a turn",
    steps: [
      { ask: "say $ says\nslow 3000\nlines 9" },
      { untilAsked: "$ says" },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /Line 9 of 9/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a tool that runs long",
    steps: [
      { ask: "say $ says\nrun sleep 4" },
      { untilScreen: /Running/ },
      { says: working },
      { forMs: 2_500 },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a permission, given in the terminal to a tool that runs long",
    steps: [
      { ask: "say $ says\nrun touch $.txt; sleep 4" },
      { untilScreen: /Do you want to/ },
      { says: asksLeave },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilScreenLacks: /Do you want to/ },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a permission, refused with Esc",
    steps: [
      { ask: "say $ says\nwrite $.txt with x" },
      { untilScreen: /Do you want to/ },
      { says: asksLeave },
      { forMs: 1_500 },
      { keys: "\u001b" },
      { untilScreenLacks: /Do you want to/ },
      { says: idle },
    ],
  },
  {
    title: "a permission, given through the API to a tool that runs long",
    steps: [
      { ask: "say $ says\nrun touch $.txt; sleep 3" },
      { untilScreen: /Do you want to/ },
      { says: asksLeave },
      { answer: "allow" },
      { says: working },
      { untilFile: "$.txt" },
      { forMs: 1_000 },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a permission, refused through the API",
    steps: [
      { ask: "say $ says\nslow 1500\nwrite $.txt with x" },
      { untilScreen: /Do you want to/ },
      { says: asksLeave },
      { answer: "deny" },
      { untilAsked: "$ says", times: 2 },
      { says: working },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a question, answered in the terminal",
    steps: [
      { ask: "say $ says\nslow 2000\nask Which way?" },
      { untilScreen: /Enter to select/ },
      { says: { activity: "needs_answer", asks: ["question"] } },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilScreenLacks: /Enter to select/ },
      { says: working },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a question, refused with Esc",
    steps: [
      { ask: "say $ says\nask Which way?" },
      { untilScreen: /Enter to select/ },
      { says: { activity: "needs_answer", asks: ["question"] } },
      { forMs: 1_200 },
      { keys: "\u001b" },
      { untilScreenLacks: /Enter to select/ },
      { says: idle },
    ],
  },
  {
    title: "a plan, refused with Esc",
    steps: [
      { ask: "say $ plans\ncall EnterPlanMode {}" },
      { untilScreen: /RESULT 1/ },
      { untilScreenLacks: busy },
      { says: idle },
      { ask: 'say $ says\ncall ExitPlanMode {"plan":"do it"}' },
      { untilScreen: /Exit plan mode\?|Ready to code\?/ },
      { says: { activity: "needs_answer", asks: ["plan"] } },
      { forMs: 1_200 },
      { keys: "\u001b" },
      { untilScreenLacks: /Exit plan mode\?|Ready to code\?/ },
      { says: idle },
    ],
  },
  {
    title: "Esc while the answer comes",
    steps: [
      { ask: "say $ says\nslow 20000\nlines 50" },
      { untilScreen: /Line 2 of 50/ },
      { says: working },
      { keys: "\u001b" },
      { untilScreen: /Interrupted/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "an error of the API that is final",
    steps: [{ ask: "say $ says\nfail 400" }, { untilScreen: /API Error: 400/ }, { says: idle }],
  },
  {
    title: "an overloaded API, tried again until it answers",
    steps: [
      { ask: "say $ says\nfail 529 2\nslow 1500" },
      { untilAsked: "$ says", times: 1 },
      { says: working },
      { untilAsked: "$ says", times: 3 },
      { says: working },
      { untilScreen: /● \$ says/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a log-in that does not hold any more, until it does again",
    steps: [
      { ask: "say $ says\nfail 401" },
      { untilScreen: /Please run \/login/ },
      { says: { activity: "needs_login", status: "running" } },
      { forMs: 1_000 },
      { paste: "say $ is back" },
      { untilScreen: /● \$ is back/ },
      { untilScreenLacks: busy },
      { says: idle },
    ],
  },
  {
    title: "a limit that is reached, until it is not any more",
    steps: [
      {
        ask: [
          "say $ says",
          "fail 429",
          "header anthropic-ratelimit-unified-status rejected",
          `header anthropic-ratelimit-unified-reset ${limitResets}`,
          "header anthropic-ratelimit-unified-representative-claim five_hour",
          "header retry-after 7200",
        ].join("\n"),
      },
      { untilScreen: /hit your 5-hour limit/ },
      { says: { activity: "limited", status: "running", resetsAt: limitResets } },
      { forMs: 1_000 },
      { paste: "say $ is back" },
      { untilScreen: /● \$ is back/ },
      { untilScreenLacks: busy },
      { says: { ...idle } },
    ],
  },
];
