import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createScriptedComposer } from "../../test/support/scripted-composer.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { geminiCli } from "../agents/gemini-cli/gemini-cli.ts";
import type { AgentTemplate } from "../agents/template.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import { nextPrompts } from "./next-prompts.ts";
import { Outbox } from "./outbox.ts";
import type { PromptState } from "./prompt-queue.ts";
import { noPrompts, type OutboxPrompt, type PromptMessage } from "./prompts.ts";

const prompt: OutboxPrompt = { promptId: "p", prompt: "fix the build", state: "queued", sentAt: null };
const exited: TerminalExit = { exitCode: 1, signal: null, at: 0 };
const inArgv: OutboxPrompt = { ...prompt, state: "sent" };

/** An outbox with a scripted terminal; the test decides what the agent reports and writes. */
function setUp({ template = claudeCode }: { readonly template?: AgentTemplate } = {}) {
  const clock = createFakeClock();
  const composer = createScriptedComposer();
  const marks: string[] = [];
  const agent = { resting: true, starting: false, hooksReport: true, written: new Set<string>() };
  const hooks = { beforeMark: async (_state: string): Promise<void> => undefined, mayMark: true, storedText: null };
  const queue = {
    mark: async (_promptId: string, state: PromptState) => {
      await hooks.beforeMark(state);
      marks.push(state);
      return hooks.mayMark;
    },
    putBack: async () => void marks.push("put back"),
    textOf: async () => hooks.storedText,
  };
  let state = noPrompts;
  async function post(message: PromptMessage): Promise<void> {
    const next = nextPrompts(state, message, {
      now: clock.now(),
      maySend: agent.resting,
      turnCount: 0,
      starting: agent.starting,
      hooksReport: agent.hooksReport,
      template,
    });
    state = next.state;
    for (const effect of next.effects) await outbox.carryOut(effect);
  }
  const outbox: Outbox = new Outbox(
    { host: composer.host, clock, queue },
    { terminalId: "t", template, promptPath: "/nowhere/prompt" },
    {
      state: () => state,
      post,
      maySend: () => agent.resting,
      maySendNow: async () => agent.resting,
      turnsBeforeNext: async () => 0,
      wasTaken: async (text) => outbox.unconfirmed === text && agent.written.has(text),
      isWritten: async ({ text }) => agent.written.has(text),
      failed: (error) => {
        throw error;
      },
    },
  );
  /** Like a live session, looks four times a second while time passes. */
  let looking = false;
  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    await outbox.tick();
    await post({ kind: "send_next" });
    looking = false;
  }
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await clock.advance(50);
      if (passed % 250 === 0) void look();
    }
  }
  const resume = (prompts: readonly OutboxPrompt[]) => post({ kind: "found", prompts, sentBy: "argv" });
  const reportTaken = (text: string) => post({ kind: "taken", text, by: "hook" });
  const endTurn = () => post({ kind: "turn_over" });
  const stateOf = () => outbox.progressOf("p")?.state;
  return { outbox, composer, agent, hooks, marks, pass, resume, reportTaken, endTurn, stateOf };
}

test("a prompt that a hook reported is delivered once it is in the transcript, and not before", async () => {
  const { outbox, agent, marks, pass, stateOf, resume, reportTaken, endTurn } = setUp();
  await resume([inArgv]);
  await reportTaken("fix the build");
  expect([stateOf(), marks]).toEqual(["received", []]);
  agent.resting = false;
  await pass(1_000);
  expect(stateOf()).toBe("received");
  agent.written.add("fix the build");
  await pass(250);
  expect([stateOf(), marks]).toEqual(["delivered", ["delivered"]]);
  await endTurn();
  expect(outbox.progressOf("p")).toMatchObject({ state: "delivered", turnOver: true });
});

test("a prompt that an agent took and was killed before it wrote it down is unknown", async () => {
  const { outbox, marks, stateOf, resume, reportTaken } = setUp();
  await resume([inArgv]);
  await reportTaken("fix the build");
  await outbox.onEnded(null);
  expect([stateOf(), marks]).toEqual(["unknown", ["unknown"]]);
});

test("a prompt that a user's own hook refused becomes unknown, and its turn is over", async () => {
  const { outbox, pass, stateOf, resume, reportTaken } = setUp();
  await resume([inArgv]);
  await reportTaken("fix the build");
  await pass(21_000);
  expect([stateOf(), outbox.progressOf("p")?.turnOver]).toEqual(["unknown", true]);
});

test("a first prompt that the agent reports in a form that we do not know is unknown when its turn has ended", async () => {
  const { outbox, pass, resume, reportTaken, endTurn } = setUp();
  await resume([inArgv]);
  await reportTaken("FIX THE BUILD");
  await endTurn();
  await pass(250);
  expect(outbox.progressOf("p")).toMatchObject({ state: "unknown", turnOver: true });
  expect(outbox.unconfirmed).toBeNull();
});

test("when a process ends, a prompt is lost only if the agent cannot have taken it", async () => {
  type Ended = { readonly template?: AgentTemplate; readonly exit?: TerminalExit | null };
  const ended = async (
    change: (parts: ReturnType<typeof setUp>) => unknown,
    { template = claudeCode, exit = exited }: Ended = {},
  ) => {
    const parts = setUp({ template });
    await parts.resume([inArgv]);
    await change(parts);
    await parts.outbox.onEnded(exit);
    return parts.stateOf();
  };
  expect(await ended(() => undefined)).toBe("lost");
  expect(await ended(({ agent }) => (agent.starting = true), { template: geminiCli })).toBe("lost");
  expect(await ended(({ agent }) => (agent.hooksReport = false))).toBe("unknown");
  expect(await ended(() => undefined, { template: geminiCli })).toBe("unknown");
  for (const exit of [null, { ...exited, exitCode: 129 }, { ...exited, exitCode: 0, signal: "SIGHUP" }])
    expect(await ended(() => undefined, { exit })).toBe("unknown");
  expect(await ended((parts) => parts.reportTaken("another form"))).toBe("unknown");
  expect(await ended(({ agent }) => agent.written.add("fix the build"))).toBe("delivered");
});

test("a typed prompt that is never confirmed is lost only if it was still in the composer, and delivered if the agent takes it late", async () => {
  const left = setUp();
  left.composer.deaf = true;
  left.outbox.add(prompt);
  await left.pass(30_000);
  expect([left.stateOf(), left.composer.text, left.composer.submitted]).toEqual(["lost", "", []]);

  const gone = setUp();
  gone.outbox.add(prompt);
  await gone.pass(30_000);
  expect([gone.stateOf(), gone.composer.submitted]).toEqual(["unknown", ["fix the build "]]);
  gone.agent.written.add("fix the build");
  await gone.reportTaken("fix the build");
  await gone.pass(250);
  expect(gone.stateOf()).toBe("delivered");
});

test("Enter is pressed again while the composer holds the prompt, and never on text that is not ours", async () => {
  const swallowed = setUp();
  swallowed.composer.deaf = true;
  swallowed.outbox.add(prompt);
  await swallowed.pass(2_000);
  swallowed.composer.deaf = false;
  await swallowed.pass(3_000);
  expect(swallowed.composer.submitted).toEqual(["fix the build "]);

  const others = setUp();
  others.outbox.add(prompt);
  await others.pass(2_000);
  others.composer.text = "half typed ";
  await others.pass(15_000);
  expect([others.composer.submitted, others.composer.text]).toEqual([["fix the build "], "half typed "]);
});

test("a prompt waits while the composer holds text that is not ours, and says so; a hint is no such text", async () => {
  const { outbox, composer, pass, stateOf, marks } = setUp();
  composer.text = "half typed";
  outbox.add(prompt);
  await pass(2_000);
  expect([outbox.draft, stateOf(), composer.text, marks]).toEqual([true, "queued", "half typed", []]);
  composer.text = "";
  composer.hint = 'Try "fix the lint errors"';
  await pass(2_000);
  expect([outbox.draft, composer.submitted]).toEqual([false, ["fix the build "]]);
});

test("a draft is cleared, or sent with the prompt, as the caller says", async () => {
  const cleared = setUp();
  cleared.composer.text = "half typed";
  cleared.outbox.add({ ...prompt, onDraft: "clear" });
  await cleared.pass(2_000);
  expect(cleared.composer.submitted).toEqual(["fix the build "]);

  const joined = setUp();
  joined.composer.text = "half typed ";
  joined.outbox.add({ ...prompt, onDraft: "append", mayFollow: async () => true });
  await joined.pass(2_000);
  expect(joined.composer.submitted).toEqual(["half typed fix the build "]);
  await joined.reportTaken("half typed fix the build");
  expect(joined.stateOf()).toBe("received");
});

test("a prompt that must not follow this draft waits until the composer is empty", async () => {
  const { outbox, composer, pass, stateOf } = setUp();
  composer.text = "/export ";
  const mayFollow = async (draft: string): Promise<boolean> => !draft.startsWith("/");
  outbox.add({ ...prompt, onDraft: "append", mayFollow });
  // Restored after a restart, so nothing is known about its caller.
  outbox.add({ ...prompt, promptId: "q", onDraft: "append" });
  await pass(2_000);
  expect([outbox.draft, stateOf(), composer.text, composer.submitted]).toEqual([true, "queued", "/export ", []]);
  composer.text = "";
  await pass(2_000);
  expect(composer.submitted[0]).toBe("fix the build ");
});

test("a dialog that opens while the store writes gets nothing, and the prompt is sent once it has gone", async () => {
  const { outbox, composer, hooks, pass, stateOf, marks } = setUp();
  hooks.beforeMark = async (state) => {
    if (state === "sent" && marks.length === 0) composer.dialog = true;
  };
  outbox.add(prompt);
  await pass(2_000);
  expect([stateOf(), composer.intoDialog, marks]).toEqual(["queued", [], ["sent", "put back"]]);
  composer.dialog = false;
  await pass(2_000);
  expect(composer.submitted).toEqual(["fix the build "]);
});

test("a dialog that opens between the look at the screen and the paste gets nothing, and the prompt is sent once it has gone", async () => {
  const { outbox, composer, pass, stateOf, marks } = setUp();
  composer.beforeWrite = () => void (composer.dialog = true);
  outbox.add(prompt);
  await pass(2_000);
  expect([stateOf(), composer.intoDialog, marks.slice(0, 2)]).toEqual(["queued", [], ["sent", "put back"]]);
  composer.beforeWrite = () => undefined;
  composer.dialog = false;
  await pass(2_000);
  expect(composer.submitted).toEqual(["fix the build "]);
});

test("a dialog that opens between the look at the screen and Enter does not get it, the first nor a repeated one", async () => {
  for (const again of [false, true]) {
    const { outbox, composer, agent, pass } = setUp();
    composer.deaf = again;
    let enters = 0;
    composer.beforeWrite = (data) => {
      if (data === "\r" && ++enters === (again ? 2 : 1)) composer.dialog = true;
    };
    outbox.add(prompt);
    await pass(5_000);
    expect([composer.dialog, composer.intoDialog, composer.submitted]).toEqual([true, [], []]);
    // As a person would answer it.
    agent.resting = false;
    await pass(250);
    Object.assign(composer, { dialog: false, deaf: false });
    agent.resting = true;
    await pass(10_000);
    expect([composer.intoDialog, composer.submitted]).toEqual([[], ["fix the build "]]);
  }
});

test("a prompt is typed in a pause of a screen that is repainted all the time", async () => {
  const { outbox, composer, pass } = setUp();
  let repaints = 0;
  composer.beforeWrite = () => {
    if (repaints++ % 3 < 2) composer.hint = `Working ${repaints}`;
  };
  outbox.add(prompt);
  await pass(2_000);
  expect(composer.submitted).toEqual(["fix the build "]);
});

test("a command whose Enter the screen never lets through is lost, and does not stay in the composer", async () => {
  const { outbox, composer, pass, stateOf } = setUp();
  composer.beforeWrite = (data) => {
    if (data === "\r") composer.text += " ";
  };
  outbox.add({ ...prompt, prompt: "/clear" });
  await pass(8_000);
  expect([stateOf(), composer.text, composer.submitted]).toEqual(["lost", "", []]);
});

test("a prompt that was given up while it waited is not typed", async () => {
  const { outbox, composer, hooks, pass } = setUp();
  hooks.mayMark = false;
  outbox.add(prompt);
  await pass(2_000);
  expect([composer.text, composer.submitted, outbox.waitingCount]).toEqual(["", [], 0]);
});
