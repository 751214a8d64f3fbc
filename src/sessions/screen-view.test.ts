import { spawn } from "node:child_process";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import type { ScreenDialog } from "../agents/screen-dialog.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { signalChildGroup } from "../platform/processes.ts";
import { type ActivityState, initialActivity, nextActivity } from "./activity.ts";
import { nextSession } from "./next-session.ts";
import { noPrompts } from "./prompts.ts";
import { endIfHung, isComputing, lookAtScreen } from "./screen-look.ts";
import { asksProcess } from "./screen-view.ts";
import { newSessionState } from "./session-state.ts";

const trust: ScreenDialog = {
  title: "Trust this folder?",
  text: "Trust this folder?",
  choices: [{ label: "Yes" }],
  selected: 0,
};

/** An agent whose composer is a line that says `ready`, and whose only known dialog is `trust`, looked at by a session. */
function watch(options: { hasHung?: () => boolean; readyBy?: "composer" | "session_start" } = {}) {
  const { hasHung, readyBy = "composer" } = options;
  const clock = createFakeClock();
  const screen: { lines: string[]; title: string | null } = { lines: ["", "  "], title: null };
  const process = { computes: false, childComputes: false };
  const ended: string[] = [];
  const host = {
    look: async () => ({ cols: 80, rows: 2, bright: null, offset: 0, ...screen }),
    end: async (terminalId: string) => {
      ended.push(terminalId);
      return { exitCode: 129, signal: "SIGHUP", at: clock.now() };
    },
  };
  const template = {
    name: "agent",
    readyBy,
    hasHooks: true,
    transcriptFormat: null,
    commandPrefixes: [],
    commandWords: [],
    composerPainted: (lines: readonly string[]) => lines.includes("ready"),
    isStarting: (lines: readonly string[]) => lines.includes("> not ready yet"),
    readDialog: (lines: readonly string[]) => (lines.includes(trust.title) ? trust : null),
    ...(hasHung === undefined ? {} : { hasHung }),
  };
  const agent = { template, terminalId: "t", pid: 1, env: {} };
  let session = newSessionState(sessionRecord(), "launched", clock.now());
  async function look(): Promise<void> {
    const found = await lookAtScreen({ host }, agent);
    const asks = asksProcess(session.screen, found, clock.now());
    const computes = asks !== "no" && (process.computes || (asks === "with_children" && process.childComputes));
    const message = { kind: "looked", look: { screen: found, computes, file: null, held: [] } } as const;
    const next = nextSession(session, message, { template, now: clock.now() });
    session = next.state;
    for (const effect of next.effects) {
      if (effect.kind === "end_if_hung") await endIfHung({ host, log: silentLog }, agent, effect.certain);
    }
  }
  /** The session's activity while the gateway looks for this long, starting with this activity. */
  const follow = async (
    ms: number,
    before: ActivityState,
    { pending = true, change = () => undefined }: { pending?: boolean; change?: () => void } = {},
  ): Promise<ActivityState> => {
    const waiting = pending ? [{ promptId: "p", prompt: "hi", state: "queued", sentAt: null } as const] : [];
    session = { ...session, activity: before, prompts: { ...noPrompts, waiting, holds: 1 } };
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(250);
      change();
      await look();
    }
    return session.activity;
  };
  const lookFor = async (ms: number, change: () => void = () => undefined) =>
    (await follow(ms, initialActivity, { change })).activity;
  return { clock, screen, process, ended, lookFor, follow };
}

describe("an agent that hangs", () => {
  const minute = 60_000;
  test("that has painted nothing for a minute and a half is ended where no slow start would stand", async () => {
    const { ended, lookFor } = watch({ hasHung: () => true });
    await lookFor(1.49 * minute);
    expect(ended).toEqual([]);
    await lookFor(1_000);
    expect(ended).toContain("t");
  });

  test("and may be slow is given five minutes", async () => {
    const { ended, lookFor } = watch({ hasHung: () => false });
    await lookFor(4.99 * minute);
    expect(ended).toEqual([]);
    await lookFor(1_000);
    expect(ended).toContain("t");
  });

  test("is not counted the time in which the machine slept", async () => {
    const { clock, ended, lookFor } = watch({ hasHung: () => true });
    await clock.advance(3_600_000);
    await lookFor(79_000);
    expect(ended).toEqual([]);
  });

  test("is left alone when it shows something, or was never seen to hang", async () => {
    const dialog = watch({ hasHung: () => true });
    dialog.screen.lines = ["Something else"];
    for (const { ended, lookFor } of [dialog, watch()]) {
      await lookFor(6 * minute);
      expect(ended).toEqual([]);
    }
  });
});

describe("a screen without a composer", () => {
  test("that the template knows stands after two looks, with its choices", async () => {
    const { screen, follow } = watch();
    screen.lines = [trust.title, "1. Yes"];
    expect(await follow(750, initialActivity)).toMatchObject({
      activity: "needs_attention",
      standing: {
        screen: "Trust this folder?\n1. Yes",
        dialog: { ...trust, dialogId: expect.stringMatching(/^\w{32}$/) },
      },
    });
  });

  test("that the template knows stands on while another choice is selected", async () => {
    const { screen, follow } = watch();
    screen.lines = [trust.title, "> Yes", "  No"];
    const stood = await follow(750, initialActivity);
    screen.lines = [trust.title, "  Yes", "> No"];
    expect(await follow(250, stood)).toMatchObject({
      activity: "needs_attention",
      standing: { screen: expect.stringContaining("> No"), dialog: { dialogId: stood.standing?.dialog?.dialogId } },
    });
  });

  test("that is unknown stands after four seconds, with its text without control characters", async () => {
    const { screen, follow } = watch();
    screen.lines = ["", "Hooks\u0007 need \u202ereview  ", "", "", "", "Enter to go on", ""];
    expect((await follow(3_750, initialActivity)).activity).toBe("starting");
    expect(await follow(500, initialActivity)).toMatchObject({
      activity: "needs_attention",
      standing: { screen: "Hooks need review\n\nEnter to go on", dialog: null },
    });
  });

  test("never stands while it is empty, changes, or says that something is loading", async () => {
    const { screen, lookFor } = watch();
    expect(await lookFor(60_000)).toBe("starting");
    let turn = 0;
    const spin = () => {
      turn += 1;
      screen.lines = ["Please wait", "|/-\\"[Math.floor(turn / 4) % 4] ?? ""];
    };
    expect(await lookFor(60_000, spin)).toBe("starting");
    screen.lines = ["Agent 1.0", "Resuming session…", ""];
    expect(await lookFor(60_000)).toBe("starting");
    screen.lines = ["Agent 1.0"];
    const retitle = () => {
      turn += 1;
      screen.title = `${turn}`;
    };
    expect(await lookFor(60_000, retitle)).toBe("starting");
  });

  test("that says that the agent starts stands after a minute and a half: the start hangs", async () => {
    for (const lines of [
      ["Agent 1.0", "Resuming session…"],
      ["Agent 1.0", "Resuming session…", "> not ready yet"],
    ]) {
      const { screen, follow } = watch();
      screen.lines = lines;
      expect((await follow(89_000, initialActivity)).activity).toBe("starting");
      expect((await follow(2_000, initialActivity)).activity).toBe("needs_attention");
    }
  });

  test("does not stand while its process computes, as on a slow machine", async () => {
    const { screen, process, lookFor, follow } = watch();
    screen.lines = ["Agent 1.0"];
    process.computes = true;
    expect(await lookFor(60_000)).toBe("starting");
    process.computes = false;
    const stood = await follow(3_500, initialActivity);
    expect(stood.activity).toBe("needs_attention");
    process.computes = true;
    expect((await follow(5_000, stood)).activity, "it stands until it changes").toBe("needs_attention");
  });

  test("stands while a program that the agent started computes forever", async () => {
    const { screen, process, follow } = watch();
    screen.lines = ["Agent 1.0"];
    process.childComputes = true;
    expect((await follow(20_000, initialActivity)).activity).toBe("starting");
    expect((await follow(5_000, initialActivity)).activity).toBe("needs_attention");
  });

  test("is over once the composer shows, or something else", async () => {
    const { screen, follow } = watch();
    screen.lines = ["Trust me?"];
    const stood = await follow(5_000, initialActivity);
    expect(stood.activity).toBe("needs_attention");
    screen.lines = ["Trusted."];
    const moved = await follow(250, stood);
    expect(moved).toMatchObject({ activity: "starting", standing: null });
    screen.lines = ["ready"];
    expect(await follow(250, moved)).toMatchObject({ activity: "idle", started: true });
    expect(await follow(250, stood)).toMatchObject({ activity: "idle", standing: null });
  });

  test("keeps a session from its start, whatever its hook said, until it is gone", async () => {
    const { screen, follow } = watch({ readyBy: "session_start" });
    screen.lines = ["Allow imports?"];
    const begun = nextActivity(
      initialActivity,
      { kind: "session_start", reason: "startup" },
      { at: 0, permissionId: "" },
    );
    const stood = await follow(5_000, begun, { pending: false });
    expect(stood.activity).toBe("needs_attention");
    screen.lines = ["ready"];
    expect((await follow(250, stood, { pending: false })).activity).toBe("idle");
    // A menu that is opened later belongs to the user, unless a prompt is waiting.
    screen.lines = ["Which model?"];
    expect((await follow(10_000, begun, { pending: false })).activity).toBe("idle");
    expect((await follow(10_000, begun)).activity).toBe("needs_attention");
  });

  test("says nothing while a turn runs", async () => {
    const { screen, follow } = watch();
    screen.lines = ["a long command's output"];
    const working = nextActivity(initialActivity, { kind: "turn_seen" }, { at: 0, permissionId: "" });
    expect((await follow(30_000, working)).activity).toBe("working");
  });
});

test.each([
  ["a program that it started, such as a hook", ["/bin/sh", "-c", "while :; do :; done & wait"]],
  [
    "one of its threads",
    [
      process.execPath,
      "-e",
      "new (require('worker_threads').Worker)('for(;;);', { eval: true }); setInterval(() => 0, 1e6)",
    ],
  ],
])("an agent computes when %s does", async (_what, [file = "", ...argv]) => {
  const start = (path: string, given: readonly string[]): number => {
    const child = spawn(path, [...given], { detached: true, stdio: "ignore" });
    onTestFinished(() => void signalChildGroup(child, "SIGKILL"));
    return child.pid ?? 0;
  };
  const busy = start(file, argv);
  await systemClock.sleep(500); // its startup also uses the CPU
  await expect.poll(() => isComputing(busy, true), { timeout: 10_000 }).toBe(true);
  const sleeps = start("/bin/sh", ["-c", "sleep 60 & wait"]);
  await expect.poll(() => isComputing(sleeps, true), { timeout: 10_000 }).toBe(false);
});
