import type { Situation } from "../../support/situations.ts";
import { limitResets } from "./claude-situations.ts";

const working = { activity: "working", status: "running", owner: "gateway", asks: [] } as const;
const idle = { activity: "idle", status: "running", owner: "gateway", asks: [] } as const;
const asksLeave = { activity: "needs_permission", asks: ["permission"] } as const;
const dialog = /Would you like to/;

/** Shown for the hooks at the beginning of a turn too, when they take long: only once the model was asked is it the permission's. */
const asksHook = [{ untilAsked: "$ says" }, { untilScreen: /Running hook/ }] as const;

/** Follows the answer once a turn, its hooks included, has ended. */
const ended = /Worked for/;

/** What happens with Codex. */
export const codexSituations: readonly Situation[] = [
  {
    title: "a turn",
    steps: [
      { ask: "say $ says\nslow 3000\nlines 9" },
      { untilAsked: "$ says" },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /Line 9 of 9/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a tool that runs long",
    steps: [
      { ask: "say $ says\nrun sleep 4" },
      { untilAsked: "$ says" },
      { says: working },
      { forMs: 2_500 },
      { untilScreen: /RESULT 1/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a permission, given in the terminal to a tool that runs long",
    steps: [
      { ask: "say $ says\nescalate sleep 4" },
      { untilScreen: dialog },
      { says: asksLeave },
      { forMs: 1_500 },
      { keys: "\r" },
      { untilScreenLacks: dialog },
      { says: working },
      { forMs: 1_500 },
      { untilScreen: /RESULT 1/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a permission, refused with Esc",
    steps: [
      { ask: "say $ says\nescalate touch $.txt" },
      { untilScreen: dialog },
      { says: asksLeave },
      { forMs: 1_500 },
      { keys: "\u001b" },
      { untilScreenLacks: dialog },
      { says: idle },
    ],
  },
  {
    title: "a permission, given through the API to a tool that runs long",
    steps: [
      { ask: "say $ says\nescalate sleep 3" },
      ...asksHook,
      { says: asksLeave },
      { answer: "allow" },
      { says: working },
      { forMs: 1_000 },
      { untilScreen: /RESULT 1/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a permission, refused through the API",
    steps: [
      { ask: "say $ says\nslow 1500\nescalate touch $.txt" },
      ...asksHook,
      { says: asksLeave },
      { answer: "deny" },
      { untilAsked: "$ says", times: 2 },
      { says: working },
      { untilScreen: /RESULT 1/ },
      { untilScreen: ended },
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
      { untilScreen: /interrupted/ },
      { says: idle },
    ],
  },
  {
    title: "an error of the API that is final",
    steps: [{ ask: "say $ says\nfail 400" }, { untilScreen: /■/ }, { says: idle }],
  },
  {
    title: "a failing API, tried again until it answers",
    steps: [
      { ask: "say $ says\nfail 500 3\nslow 1500" },
      { untilAsked: "$ says", times: 1 },
      { says: working },
      { untilAsked: "$ says", times: 4 },
      { says: working },
      { untilScreen: /• \$ says/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a log-in that does not hold any more, until it does again",
    steps: [
      { ask: "say $ says\nfail 401" },
      { untilAsked: "$ says", times: 3 },
      { says: working },
      { untilScreen: /■/ },
      { says: { activity: "needs_login", status: "running" } },
      { forMs: 1_000 },
      { paste: "say $ is back" },
      { untilScreen: /• \$ is back/ },
      { untilScreen: ended },
      { says: idle },
    ],
  },
  {
    title: "a limit that is reached",
    steps: [
      {
        ask: [
          "say $ says",
          "fail 429",
          "header x-codex-primary-used-percent 100",
          "header x-codex-primary-window-minutes 300",
          `header x-codex-primary-reset-at ${limitResets}`,
          `error {"type":"usage_limit_reached","plan_type":"plus","resets_at":${limitResets}}`,
        ].join("\n"),
      },
      { untilScreen: /hit your usage limit/ },
      { says: { activity: "limited", status: "running", resetsAt: limitResets } },
      { forMs: 1_000 },
    ],
  },
];
