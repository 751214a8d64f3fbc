import { describe, expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import { summaryWith } from "../../test/support/transcript-summary.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { codex } from "../agents/codex/codex.ts";
import { geminiCli } from "../agents/gemini-cli/gemini-cli.ts";
import {
  dialogIdOf,
  type HookEvent,
  type ObservedActivity,
  type ObservedState,
  type ScreenDialog,
} from "../agents/index.ts";
import type { TurnState } from "../transcripts/index.ts";
import type { ActivityState, OpenPermission } from "./activity.ts";
import { nextSession } from "./next-session.ts";
import type { OutboxPrompt, SentPrompt } from "./prompts.ts";
import {
  type FoundAtRest,
  newSessionState,
  type SessionEffect,
  type SessionLook,
  type SessionMessage,
  type SessionState,
  type SessionTemplate,
} from "./session-state.ts";

const now = 1_000_000;
const launched = newSessionState(sessionRecord(), "launched", now - 60_000);
const queued: OutboxPrompt = { promptId: "p", prompt: "fix the build", state: "queued", sentAt: null };
const sent: SentPrompt = {
  promptId: "p",
  text: "fix the build",
  by: "typing",
  turnsBefore: 2,
  sentAt: now - 1_000,
  enters: 1,
  otherTaken: false,
};
const call = { tool: "Bash", input: { command: "make" }, callKey: "Bash make", subagent: null };
const permission: OpenPermission = {
  ...call,
  permissionId: "1",
  kind: "permission",
  askedAt: new Date(now - 20_000).toISOString(),
  answerable: false,
};
const dialog: ScreenDialog = {
  title: "Run a command",
  text: "make\nDo you want to proceed?",
  choices: [
    { label: "Yes", decides: "allow" },
    { label: "No", decides: "deny" },
  ],
  selected: 0,
};
const trust: ScreenDialog = { title: "Trust?", text: "Trust this folder?", choices: [{ label: "Yes" }], selected: 0 };

type Parts = Omit<Partial<SessionState>, "activity" | "prompts" | "transcript" | "agent" | "screen" | "use"> & {
  readonly activity?: Partial<ActivityState>;
  readonly use?: Partial<SessionState["use"]>;
  readonly prompts?: Partial<SessionState["prompts"]>;
  readonly transcript?: Partial<SessionState["transcript"]>;
  readonly agent?: Partial<SessionState["agent"]>;
  readonly screen?: Partial<SessionState["screen"]>;
};

function stateWith(parts: Parts): SessionState {
  return {
    ...launched,
    ...parts,
    activity: { ...launched.activity, ...parts.activity },
    use: { ...launched.use, ...parts.use },
    prompts: { ...launched.prompts, ...parts.prompts },
    transcript: { ...launched.transcript, ...parts.transcript },
    agent: { ...launched.agent, ...parts.agent },
    screen: { ...launched.screen, ...parts.screen },
  };
}

const idle = { activity: "idle", started: true } as const;
const working = { activity: "working", started: true, turnRuns: true, promptsTaken: 1 } as const;
const asking = { ...working, activity: "needs_permission", permissions: [permission] } as const;
const attention = { activity: "needs_attention", standing: { screen: "Trust?", dialog: null } } as const;
const written = (lastTurn: TurnState, turnCount = 3) => ({ summary: summaryWith({ turnCount, lastTurn }) });

const line = { at: now - 5, permissionId: "9" };
const hook = (event: HookEvent): SessionMessage => ({ kind: "reported", event, line });
const unused: Parts = {
  activity: idle,
  ...{ transcript: { summary: summaryWith({ updatedAt: new Date(now - 60_000).toISOString() }) } },
  use: { viewers: 0, lastAt: now - 60_000, firstPromptAt: null },
};
const reported: ObservedState = { activity: "idle", since: null, hooked: false };
const idleChecked = (found: Partial<FoundAtRest>): SessionMessage => ({
  kind: "idle_checked",
  found: { observed: reported, draft: "", runsTask: false, canResume: true, ...found },
  idleTimeoutMs: 60_000,
});
const composer = { composer: true, text: "> ", title: null, starting: false, dialog: null };
const covered = { composer: false, text: "Something else", title: null, starting: false, dialog: null };
const look = (found: Partial<SessionLook>): SessionMessage => ({
  kind: "looked",
  look: { screen: null, computes: false, file: null, held: [], ...found },
});
const says = (activity: ObservedActivity, since: number | null = now - 10) => ({ activity, since, hooked: false });
const changed: SessionMessage = { kind: "transcript_changed", promptTaken: null, dialog: null };

interface Row {
  readonly what: string;
  readonly from: Parts;
  readonly message: SessionMessage;
  readonly template?: SessionTemplate;
  /** Parts of the state after it. */
  readonly gives: Parts;
  /** The kinds of the effects other than `moved`. */
  readonly effects?: readonly SessionEffect["kind"][];
}

const rows: readonly Row[] = [
  // Reports of hooks.
  {
    what: "a session that began is idle",
    from: {},
    message: hook({ kind: "session_start", reason: "startup" }),
    gives: { activity: idle, hooks: { lastAt: now - 5, any: true, taken: [] } },
  },
  {
    what: "a session that began behind its own dialog still needs a person",
    from: { activity: attention },
    message: hook({ kind: "session_start", reason: "startup" }),
    gives: { activity: { activity: "needs_attention", started: true } },
  },
  {
    what: "what waits goes out once the session has begun",
    from: { prompts: { waiting: [queued] } },
    message: hook({ kind: "session_start", reason: "startup" }),
    gives: { prompts: { sending: { prompt: queued, typing: false } } },
    effects: ["send"],
  },
  {
    what: "a prompt of ours is received, and its turn runs",
    from: { activity: idle, prompts: { sent } },
    message: hook({ kind: "prompt_submitted", prompt: "fix the build" }),
    gives: { activity: working, prompts: { sent: null, current: "p" }, transcript: { promptAt: now - 5 } },
  },
  {
    what: "the turns before a prompt are those that the agent had while it was idle",
    from: { activity: idle, transcript: { turnsWhenIdle: 4 } },
    message: hook({ kind: "prompt_submitted", prompt: "typed by a person" }),
    gives: { turnsBefore: 4 },
  },
  {
    what: "a report is newer than what the state file said",
    from: { activity: idle, agent: { reportedAt: 0 } },
    message: hook({ kind: "tool_started", tool: "Bash" }),
    gives: { agent: { reportedAt: now - 5 } },
  },
  {
    what: "a permission that is asked for stands",
    from: { activity: working },
    message: hook({ kind: "permission_asked", asks: "permission", ...call }),
    gives: { activity: { activity: "needs_permission" } },
  },
  {
    what: "a question of the agent needs an answer",
    from: { activity: working },
    message: hook({ kind: "permission_asked", asks: "question", ...call }),
    gives: { activity: { activity: "needs_answer" } },
  },
  {
    what: "a call that ran was allowed",
    from: { activity: asking },
    message: hook({ kind: "tool_ended", ...call }),
    gives: { activity: { activity: "working", permissions: [] }, unanswered: { permissions: [], until: 0 } },
  },
  {
    what: "nothing goes out while a question is open",
    from: { activity: working, prompts: { waiting: [queued] } },
    message: hook({ kind: "permission_asked", asks: "permission", ...call }),
    gives: { prompts: { sending: null, waiting: [queued] } },
  },
  {
    what: "a turn that ended is looked for in the transcript before the next prompt goes out",
    from: { activity: working, prompts: { waiting: [queued] } },
    message: hook({ kind: "turn_ended" }),
    gives: { activity: { activity: "idle", turnsEnded: 1 }, restingSince: now, prompts: { sending: null } },
    effects: ["turn_ended"],
  },
  {
    what: "once its last lines are written the next prompt goes out",
    from: {
      activity: { ...idle, turnsEnded: 1 },
      prompts: { waiting: [queued] },
      transcript: written({ kind: "ended" }),
    },
    message: { kind: "turn_written" },
    gives: { transcript: { turnsWhenIdle: 3, settled: true }, prompts: { sending: { prompt: queued, typing: false } } },
    effects: ["send"],
  },
  {
    what: "a turn that ended while sub-agents run leaves the agent at work, and takes a prompt",
    from: { activity: working },
    message: hook({ kind: "turn_ended", inBackground: true }),
    gives: { activity: { activity: "working", inBackground: true } },
    effects: ["turn_ended"],
  },
  {
    what: "a turn that failed because of a missing login says so",
    from: { activity: working },
    message: hook({ kind: "turn_failed", message: "no", needs: "login" }),
    gives: { activity: { activity: "needs_login" } },
    effects: ["turn_ended"],
  },
  {
    what: "a turn that met a limit says so",
    from: { activity: working },
    message: hook({ kind: "turn_failed", message: "no", needs: "limit_reset" }),
    gives: { activity: { activity: "limited" } },
    effects: ["turn_ended"],
  },
  {
    what: "a permission whose turn ended unanswered may still show its dialog for half a minute",
    from: { activity: asking },
    message: hook({ kind: "turn_ended" }),
    gives: { unanswered: { permissions: [permission], until: now + 30_000 } },
    effects: ["turn_ended"],
  },
  {
    what: "only the newest fifty prompts are remembered for a gateway that catches up",
    from: { hooks: { lastAt: 0, any: true, taken: Array.from({ length: 50 }, (_, at) => ({ text: `${at}`, at })) } },
    message: hook({ kind: "prompt_submitted", prompt: "one more" }),
    gives: {
      hooks: {
        lastAt: now - 5,
        any: true,
        taken: [
          ...Array.from({ length: 49 }, (_, at) => ({ text: `${at + 1}`, at: at + 1 })),
          { text: "one more", at: now - 5 },
        ],
      },
    },
  },
  // Answers.
  {
    what: "an answer takes the question off the list, and the turn runs",
    from: { activity: asking },
    message: { kind: "answered", permissionId: "1", decision: "allow" },
    gives: {
      activity: { activity: "working", permissions: [], allowedCalls: ["Bash make"] },
      agent: { reportedAt: now },
    },
  },
  {
    what: "a denial allows no call",
    from: { activity: asking },
    message: { kind: "answered", permissionId: "1", decision: "deny" },
    gives: { activity: { permissions: [], allowedCalls: [] } },
  },
  {
    what: "an answer to what is not open changes nothing",
    from: { activity: asking },
    message: { kind: "answered", permissionId: "2", decision: "allow" },
    gives: { activity: asking },
  },
  // The transcript.
  {
    what: "another transcript begins with nothing known",
    from: { transcript: { ...written({ kind: "ended" }), turnsWhenIdle: 3, settled: true, promptAt: 9 } },
    message: { kind: "transcript_bound" },
    gives: { transcript: { summary: null, turnsWhenIdle: 0, settled: false, sawOpen: false, promptAt: 0 } },
  },
  {
    what: "a turn that begins in the file of an idle agent is remembered",
    from: { activity: idle, transcript: { settled: true } },
    message: { kind: "transcript_read", ...written({ kind: "open" }) },
    gives: { transcript: { sawOpen: true } },
  },
  {
    what: "reading alone moves no activity",
    from: { activity: working },
    message: { kind: "transcript_read", ...written({ kind: "aborted" }) },
    gives: { activity: working },
  },
  {
    what: "an aborted turn has ended, where no state file reports",
    from: { activity: working, transcript: { ...written({ kind: "aborted" }), turnsWhenIdle: 2 } },
    message: changed,
    gives: { activity: { activity: "idle" } },
    effects: ["turn_ended"],
  },
  {
    what: "a turn's end says nothing where a state file reports",
    from: {
      activity: working,
      transcript: { ...written({ kind: "aborted" }), turnsWhenIdle: 2 },
      agent: { reports: true },
    },
    message: changed,
    gives: { activity: working },
  },
  {
    what: "the end of the turn before says nothing of this one",
    from: { activity: working, transcript: { ...written({ kind: "ended" }), turnsWhenIdle: 3 } },
    message: changed,
    gives: { activity: working },
  },
  {
    what: "what concludes that a question was answered is wrong while its dialog stands",
    from: { activity: asking, transcript: { ...written({ kind: "aborted" }), turnsWhenIdle: 2 } },
    message: { ...changed, dialog },
    gives: { activity: asking },
  },
  {
    what: "another dialog does not keep the question open",
    from: { activity: asking, transcript: { ...written({ kind: "aborted" }), turnsWhenIdle: 2 } },
    message: { ...changed, dialog: trust },
    gives: { activity: { activity: "idle", permissions: [] } },
    effects: ["turn_ended"],
  },
  {
    what: "a turn that failed in the file says what it needs",
    from: {
      activity: working,
      transcript: { ...written({ kind: "failed", message: "no", needs: "login" }), turnsWhenIdle: 2 },
    },
    message: changed,
    gives: { activity: { activity: "needs_login" } },
    effects: ["turn_ended"],
  },
  {
    what: "a turn that no hook reported runs",
    from: { activity: idle, transcript: { ...written({ kind: "open" }), settled: true, turnsWhenIdle: 3 } },
    message: changed,
    gives: { activity: { activity: "working", turnRuns: true } },
  },
  {
    what: "a prompt of ours that no hook confirmed is delivered once it is in the transcript",
    from: { activity: idle, prompts: { sent }, transcript: { ...written({ kind: "open" }), turnsWhenIdle: 2 } },
    message: { ...changed, promptTaken: "fix the build" },
    gives: { activity: working, prompts: { sent: null, current: "p" } },
    effects: ["mark"],
  },
  {
    what: "a prompt that a hook reported during the read is not taken twice",
    from: {
      activity: working,
      prompts: { received: [{ ...sent, receivedAt: now }] },
      transcript: written({ kind: "open" }),
    },
    message: { ...changed, promptTaken: "fix the build" },
    gives: { activity: { promptsTaken: 1 } },
  },
  {
    what: "while a prompt is on its way what is written may be its turn",
    from: { activity: idle, prompts: { sent }, transcript: { ...written({ kind: "ended" }), turnsWhenIdle: 2 } },
    message: changed,
    gives: { transcript: { turnsWhenIdle: 2 } },
  },
  {
    what: "an agent without hooks works on what a person typed",
    from: { activity: idle, transcript: { ...written({ kind: "open" }), turnsWhenIdle: 2 } },
    message: changed,
    template: geminiCli,
    gives: { activity: { activity: "working", promptsTaken: 1 }, agent: { reportedAt: now } },
  },
  {
    what: "a process that continues a file has all its turns before the next prompt",
    from: { transcript: written({ kind: "open" }) },
    message: { kind: "turns_counted", as: "resumed" },
    gives: { transcript: { turnsWhenIdle: 3 } },
  },
  {
    what: "one that was found in mid-turn has its own two not before it",
    from: { transcript: written({ kind: "open" }) },
    message: { kind: "turns_counted", as: "working" },
    gives: { transcript: { turnsWhenIdle: 1 } },
  },
  // The state file.
  {
    what: "a state file that says idle twice while the agent boots makes it idle",
    from: { agent: { last: { said: `idle ${now - 500}`, at: now - 300 } } },
    message: look({ file: says("idle", now - 500) }),
    gives: { activity: idle, agent: { reports: true } },
  },
  {
    what: "once is not enough",
    from: {},
    message: look({ file: says("idle", now - 500) }),
    gives: { activity: { activity: "starting" } },
  },
  {
    what: "a state file that is newer than the last hook ends the turn",
    from: { activity: working, agent: { reportedAt: now - 5_000 } },
    message: look({ file: says("idle") }),
    gives: { activity: { activity: "idle", turnsEnded: 1 } },
    effects: ["turn_ended"],
  },
  {
    what: "one that is older does not",
    from: { activity: working, agent: { reportedAt: now - 1_000 } },
    message: look({ file: says("idle", now - 2_000) }),
    gives: { activity: working },
  },
  {
    what: "a state file that says working begins a turn that no hook reported",
    from: { activity: idle, agent: { reportedAt: now - 5_000 } },
    message: look({ file: says("working") }),
    gives: { activity: { activity: "working", turnRuns: true } },
  },
  {
    what: "also when the hooks of its start were lost",
    from: { agent: { reportedAt: now - 5_000, last: { said: `working ${now - 10}`, at: now - 300 } } },
    message: look({ file: says("working") }),
    gives: { activity: { activity: "working", turnRuns: true, started: true } },
  },
  {
    what: "a dialog that the file shows and no hook reported stands",
    from: { activity: working, agent: { last: { said: `needs_answer ${now - 10}`, at: now - 300 } } },
    message: look({ file: says("needs_answer") }),
    gives: { activity: { activity: "needs_answer" } },
  },
  {
    what: "a question whose dialog was answered in the terminal is closed",
    from: {
      activity: asking,
      agent: { reportedAt: now - 9_000, last: { said: `working ${now - 10}`, at: now - 300 } },
    },
    message: look({ file: says("working") }),
    gives: { activity: { activity: "working", permissions: [] } },
  },
  {
    what: "not while a hook holds it",
    from: {
      activity: asking,
      agent: { reportedAt: now - 9_000, last: { said: "working null", at: now - 300 } },
    },
    message: look({ file: says("working", null), held: ["1"] }),
    gives: { activity: asking, agent: { heldAt: now } },
  },
  {
    what: "nor while its dialog is on the screen",
    from: {
      activity: asking,
      agent: { reportedAt: now - 9_000, last: { said: `idle ${now - 10}`, at: now - 300 } },
    },
    message: look({ file: says("idle"), screen: { ...covered, dialog } }),
    gives: { activity: asking },
  },
  {
    what: "a file that says nothing once may be in the middle of a write",
    from: { activity: asking, agent: { reports: true } },
    message: look({ screen: composer }),
    gives: { activity: asking, agent: { reports: false } },
  },
  {
    what: "without a file a composer that came back shows that the question was answered",
    from: {
      activity: asking,
      transcript: written({ kind: "open" }),
      agent: { wasCovered: true, sight: { covered: false, at: now - 300 } },
    },
    message: look({ screen: composer }),
    template: codex,
    gives: { activity: { activity: "working", permissions: [] } },
  },
  {
    what: "not the composer before the dialog of a question that its hook still holds",
    from: {
      activity: asking,
      transcript: written({ kind: "open" }),
      agent: { wasCovered: true, sight: { covered: false, at: now - 300 } },
    },
    message: look({ screen: composer, held: ["1"] }),
    template: codex,
    gives: { activity: asking, agent: { wasCovered: false, sight: null } },
  },
  {
    what: "a question that never covered the composer is open for five seconds",
    from: { activity: asking, agent: { reportedAt: now - 4_000, sight: { covered: false, at: now - 4_000 } } },
    message: look({ screen: composer }),
    template: codex,
    gives: { activity: asking },
  },
  {
    what: "a window title that says working begins a turn",
    from: { activity: idle, agent: { reportedAt: now - 5_000 } },
    message: look({ screen: { ...composer, title: "✦  Working… (project)" } }),
    template: geminiCli,
    gives: { agent: { title: { activity: "working", since: now } }, activity: { activity: "working" } },
  },
  // The screen.
  {
    what: "a composer makes a starting agent idle where nothing else says that it is ready",
    from: {},
    message: look({ screen: composer }),
    template: geminiCli,
    gives: { activity: idle, screen: { sawComposer: true } },
  },
  {
    what: "not where its hook says so",
    from: {},
    message: look({ screen: composer }),
    gives: { activity: { activity: "starting" }, screen: { sawComposer: true } },
  },
  {
    what: "a known dialog that stood for 0.4 s needs a person",
    from: { screen: { shown: shownSince(trust, now - 400) } },
    message: look({ screen: { ...covered, dialog: trust } }),
    gives: { activity: { activity: "needs_attention" } },
  },
  {
    what: "an unknown screen that stood for 4 s needs a person",
    from: { screen: { shown: shownSince(null, now - 4_000) } },
    message: look({ screen: covered }),
    gives: { activity: { activity: "needs_attention", standing: { screen: "Something else", dialog: null } } },
  },
  {
    what: "one look at which the process computes does not hide it",
    from: { screen: { shown: shownSince(null, now - 4_000) } },
    message: look({ screen: covered, computes: true }),
    gives: { activity: { activity: "needs_attention" } },
  },
  {
    what: "the second does",
    from: { screen: { shown: { ...shownSince(null, now - 4_000), computed: 1 } } },
    message: look({ screen: covered, computes: true }),
    gives: { activity: { activity: "starting" } },
  },
  {
    what: "a screen that says that the agent starts may stand for a minute and a half",
    from: { screen: { shown: shownSince(null, now - 80_000) } },
    message: look({ screen: { ...covered, starting: true } }),
    gives: { activity: { activity: "starting" } },
  },
  {
    what: "after that it hangs, and needs a person",
    from: { screen: { shown: shownSince(null, now - 90_000) } },
    message: look({ screen: { ...covered, starting: true } }),
    gives: { activity: { activity: "needs_attention" } },
  },
  {
    what: "a menu of the agent is its user's own while nothing waits",
    from: { activity: idle, screen: { sawComposer: true, shown: shownSince(null, now - 9_000) } },
    message: look({ screen: covered }),
    gives: { activity: idle },
  },
  {
    what: "it is in the way of a prompt that waits",
    from: {
      activity: idle,
      prompts: { waiting: [queued], holds: 1 },
      screen: { sawComposer: true, shown: shownSince(null, now - 9_000) },
    },
    message: look({ screen: covered }),
    gives: { activity: { activity: "needs_attention" } },
  },
  {
    what: "an empty screen at the start for a minute and a half may hang",
    from: { screen: { emptyMs: 89_000, emptyAt: now - 1_000 } },
    message: look({ screen: { ...covered, text: "" } }),
    gives: { screen: { emptyMs: 90_000 } },
    effects: ["end_if_hung"],
  },
  {
    what: "the time in which the machine slept does not count",
    from: { screen: { emptyMs: 70_000, emptyAt: now - 3_600_000 } },
    message: look({ screen: { ...covered, text: "" } }),
    gives: { screen: { emptyMs: 80_000 } },
  },
  {
    what: "once the screen moves the agent is idle again",
    from: { activity: { ...attention, started: true }, screen: { shown: shownSince(null, now - 9_000) } },
    message: look({ screen: { ...covered, text: "Trusted." } }),
    gives: { activity: { activity: "idle", standing: null } },
  },
  {
    what: "a dialog of a permission that waits for no hook is remembered",
    from: { activity: asking },
    message: look({ screen: { ...covered, dialog } }),
    gives: { screen: { asked: dialog } },
  },
  {
    what: "a permission whose dialog appears after its turn ended is open again",
    from: { activity: idle, unanswered: { permissions: [permission], until: now + 1 } },
    message: look({ screen: { ...covered, dialog } }),
    gives: { activity: { activity: "needs_permission", permissions: [permission] } },
  },
  {
    what: "after half a minute it is not",
    from: { activity: idle, unanswered: { permissions: [permission], until: now } },
    message: look({ screen: { ...covered, dialog } }),
    gives: { activity: idle },
  },
  {
    what: "a limit that has ended makes the agent idle",
    from: {
      activity: { ...idle, activity: "limited" },
      transcript: written({ kind: "failed", message: "no", resetsAt: new Date(now - 1).toISOString() }),
      screen: { sawComposer: true },
    },
    message: look({}),
    gives: { activity: { activity: "idle" } },
  },
  // A gateway that has just begun.
  {
    what: "a prompt that was taken while no gateway ran, by its hook and in the transcript, is delivered",
    from: {
      activity: working,
      hooks: { lastAt: 0, any: true, taken: [{ text: "fix the build", at: now - 4_000 }] },
      transcript: written({ kind: "open" }),
    },
    message: { kind: "caught_up", open: [{ prompt: { ...queued, state: "sent", sentAt: now - 5_000 }, turn: 1 }] },
    gives: { prompts: { sent: null, received: [], current: "p" } },
    effects: ["mark"],
  },
  {
    what: "one that only its hook has is received",
    from: { activity: working, hooks: { lastAt: 0, any: true, taken: [{ text: "fix the build", at: now - 4_000 }] } },
    message: { kind: "caught_up", open: [{ prompt: { ...queued, state: "sent", sentAt: now - 5_000 }, turn: null }] },
    gives: { prompts: { sent: null, current: "p" } },
  },
  {
    what: "one that only the transcript has begins its turn, which runs",
    from: { activity: idle, transcript: written({ kind: "open" }) },
    message: { kind: "caught_up", open: [{ prompt: { ...queued, state: "sent", sentAt: now - 5_000 }, turn: 1 }] },
    gives: { activity: { activity: "working", promptsTaken: 1 } },
    effects: ["mark"],
  },
  {
    what: "one that is nowhere is waited for",
    from: { activity: idle },
    message: { kind: "caught_up", open: [{ prompt: { ...queued, state: "sent", sentAt: now - 5_000 }, turn: null }] },
    gives: { prompts: { sent: { ...sent, turnsBefore: 0, sentAt: now } } },
  },
  {
    what: "it may be the other one that the agent reported",
    from: { activity: working, hooks: { lastAt: 0, any: true, taken: [{ text: "FIX", at: now - 4_000 }] } },
    message: { kind: "caught_up", open: [{ prompt: { ...queued, state: "sent", sentAt: now - 5_000 }, turn: null }] },
    gives: { prompts: { sent: { ...sent, turnsBefore: 0, sentAt: now, otherTaken: true } } },
  },
  {
    what: "what waited goes out",
    from: { activity: idle },
    message: { kind: "caught_up", open: [{ prompt: queued, turn: null }] },
    gives: { prompts: { sending: { prompt: queued, typing: false } } },
    effects: ["send"],
  },
  // The end.
  {
    what: "to an agent that has ended nothing goes out",
    from: { activity: idle, life: { kind: "ended", idleMs: null }, prompts: { waiting: [queued] } },
    message: { kind: "prompt", message: { kind: "send_next" } },
    gives: { prompts: { sending: null } },
  },
  {
    what: "an end moves nothing else",
    from: { activity: working },
    message: { kind: "ended" },
    gives: { activity: working, life: { kind: "ended", idleMs: null } },
  },
  // Idle agents.
  {
    what: "an agent that is idle for so long is ended, and nothing goes out from then on",
    from: unused,
    message: idleChecked({}),
    gives: { life: { kind: "retiring", idleMs: 60_000 } },
    effects: ["retire"],
  },
  {
    what: "its end remembers how long it was idle",
    from: { ...unused, life: { kind: "retiring", idleMs: 60_000 } },
    message: { kind: "ended" },
    gives: { life: { kind: "ended", idleMs: 60_000 } },
  },
  {
    what: "one that is being ended takes no prompt",
    from: { ...unused, life: { kind: "retiring", idleMs: 60_000 }, prompts: { waiting: [queued] } },
    message: { kind: "prompt", message: { kind: "send_next" } },
    gives: { prompts: { sending: null } },
  },
  {
    what: "one that turns out to be in use is due again a whole time later",
    from: { ...unused, life: { kind: "retiring", idleMs: 60_000 } },
    message: { kind: "found_in_use" },
    gives: { life: { kind: "running" }, use: { lastAt: now } },
  },
  {
    what: "one that has ended meanwhile stays ended",
    from: { ...unused, life: { kind: "ended", idleMs: 60_000 } },
    message: { kind: "found_in_use" },
    gives: { life: { kind: "ended", idleMs: 60_000 } },
  },
  {
    what: "one that is not due is left alone",
    from: { ...unused, use: { viewers: 0, lastAt: now - 59_999, firstPromptAt: null } },
    message: idleChecked({}),
    gives: { life: { kind: "running" }, use: { lastAt: now - 59_999 } },
  },
  ...(
    [
      ["an agent of this gateway took its first prompt when that was seen", false, now],
      [
        "of an agent that ran before, it may be a later prompt: when its background tasks began is not known",
        true,
        null,
      ],
    ] as const
  ).map(([what, ranBefore, firstPromptAt]) => ({
    what,
    from: {
      ...{ activity: idle, prompts: { sent }, transcript: { ...written({ kind: "open" }), turnsWhenIdle: 2 } },
      use: { ranBefore },
    },
    message: { ...changed, promptTaken: "fix the build" },
    gives: { use: { firstPromptAt } },
    effects: ["mark"] as const,
  })),
  {
    what: "a hook says when the first prompt was taken, also by an agent that ran before",
    from: { activity: idle, use: { ranBefore: true } },
    message: hook({ kind: "prompt_submitted", prompt: "fix the build" }),
    gives: { use: { firstPromptAt: line.at } },
  },
  {
    what: "a viewer that leaves starts the time again, and the record notes it",
    from: { ...unused, use: { viewers: 1, lastAt: 5, firstPromptAt: null } },
    message: { kind: "viewer", did: "leave" },
    gives: { use: { viewers: 0, lastAt: now } },
    effects: ["note_use"],
  },
  ...Object.entries<Parameters<typeof idleChecked>[0]>({
    "text in the composer": { draft: "not sent" },
    "a composer that cannot be read": { draft: null },
    "a command in the background": { runsTask: true },
    "a background task by its own report": { observed: { ...reported, inBackground: true } },
    "a turn that no hook reported": { observed: { ...reported, activity: "working" } },
    "an unknown state": { observed: "unknown" },
    "a conversation that cannot be resumed": { canResume: false },
  }).map(([what, found]) => ({
    what: `an agent with ${what} is not ended, and is due again a whole time later`,
    from: unused,
    message: idleChecked(found),
    gives: { life: { kind: "running" }, use: { lastAt: now } } as const,
  })),
];

function shownSince(known: ScreenDialog | null, at: number) {
  const text = known === null ? "\nSomething else" : dialogIdOf(known);
  return { text, since: at, from: at, computed: 0, stood: false };
}

describe("one message", () => {
  test.each(rows)("$what", ({ from, message, template = claudeCode, gives, effects = [] }) => {
    const step = nextSession(stateWith(from), message, { template, now });
    expect(step.state).toMatchObject(gives);
    const kinds = step.effects.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== "moved")).toEqual(effects);
  });
});
