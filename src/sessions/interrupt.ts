import type { AgentTemplate } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { InterruptInput, InterruptOutput } from "../wire/coding.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import type { SessionLocator } from "./locate.ts";
import { unlessGone, writeAsSeen } from "./submit.ts";

/** Stops the turn that runs in a live session. */
export interface TurnStopper {
  /** @returns whether it stopped a turn: false if no turn ran, or if `isWanted` returned false */
  stop(live: LiveSession, options: StopOptions): Promise<boolean>;
}

interface StopOptions {
  readonly signal: AbortSignal;
  /** Called right before each key; no key is pressed once it returns false. If omitted, every key is pressed. */
  readonly isWanted?: () => boolean;
}

interface StopDeps {
  readonly host: TerminalHostClient;
  readonly clock: Clock;
}

// Claude Code and Codex stop within half a second and record it in transcript or state file, which are read after 1.5 s without a hook.
const stopMs = 3_500;
// Agents drop keys for a second after they paint a dialog. Never press a key again without a look: a second Esc in an idle Codex opens its history.
const maxAttempts = 3;
// A prompt on its way is accepted within a second.
const takenMs = 10_000;
const repaintMs = 150;
const comesBackMs = 4_000;
// If the transcript has the mark of an aborted turn, the prompt does not return to the composer, unless the mark is the previous turn's.
const markedMs = 400;

/**
 * `coding_interrupt`: stops the running turn and keeps the session. This denies an open permission request, as Esc in the terminal does;
 * queued prompts are sent next. Not in the specification.
 */
export function createInterrupt(deps: {
  readonly locator: SessionLocator;
  readonly turns: TurnStopper;
}): (input: InterruptInput, caller: Caller, signal: AbortSignal) => Promise<InterruptOutput> {
  const { locator, turns } = deps;
  return async (input, caller, signal) => {
    const session = await locator.locate(input.sessionId, caller);
    const holder = await locator.externalHolder(session);
    if (holder !== null) {
      throw sessionError(
        "session_busy",
        `Session ${session.record.sessionId} is running in process ${holder.pid}, outside Postern. Stop its turn there.`,
      );
    }
    const interrupted = session.live !== null && (await turns.stop(session.live, { signal }));
    return { ...(await locator.summaryOf(await locator.locate(input.sessionId, caller))), interrupted };
  };
}

/** One stop at a time for each session: a key that is pressed twice can mean something else. */
export function createTurnStopper(deps: StopDeps): TurnStopper {
  const lock = createKeyedLock();
  return { stop: (live, options) => lock.run(live.terminalId, () => stopLive(deps, live, options)) };
}

async function stopLive(deps: StopDeps, live: LiveSession, options: StopOptions): Promise<boolean> {
  const { signal, isWanted = () => true } = options;
  // If a turn were stopped before its hook reported the prompt, the prompt would stay unconfirmed.
  const settled = (): boolean => live.outbox.unconfirmed === null || live.exit !== null;
  await live.until(settled, { timeoutMs: takenMs, signal });
  if (live.exit !== null || !isWanted()) return false;
  if (isSilent(live.template)) return unlessGone(pressOnce(deps, live), false);
  if (!live.state.turnRuns) return false;
  // The next prompt is not typed before the composer is empty again.
  return live.outbox.hold(() => unlessGone(stopTurn(deps, live, { signal, isWanted }), true));
}

/** Without hooks and without a transcript that we read, it is not known whether a turn runs. */
function isSilent({ hasHooks, transcriptFormat }: AgentTemplate): boolean {
  return !hasHooks && transcriptFormat === null;
}

async function pressOnce({ host }: StopDeps, { terminalId, template }: LiveSession): Promise<boolean> {
  await host.write(terminalId, template.interruptKeys);
  return true;
}

async function stopTurn(
  deps: StopDeps,
  live: LiveSession,
  { signal, isWanted }: Required<StopOptions>,
): Promise<boolean> {
  const over = (): boolean => live.exit !== null || !live.state.turnRuns;
  for (let attempt = 0; attempt < maxAttempts && !over() && isWanted() && !signal.aborted; attempt += 1) {
    await deps.host.write(live.terminalId, live.template.interruptKeys);
    await live.until(over, { timeoutMs: stopMs, signal });
    // The turn may turn out to be still running.
    if (over() && live.exit === null) await clearComposer(deps, live);
  }
  return over();
}

/**
 * An agent that had not answered yet puts the prompt back into its composer, shortly after it reports that it is idle. An agent that had
 * answered leaves a mark in its transcript.
 */
async function clearComposer(deps: StopDeps, live: LiveSession): Promise<void> {
  const { clock } = deps;
  const { composer } = live.template;
  if (composer?.getsPromptBack !== true) return;
  const began = clock.now();
  for (let cleared = false; ; ) {
    await clock.sleep(repaintMs);
    const seen = await writeAsSeen(deps, live.terminalId, (screen) => {
      const text = composer.text(screen);
      return text ? composer.clearKeys(text) : null;
    });
    const waitedMs = clock.now() - began;
    if (seen !== null) cleared = true;
    else if (cleared) return;
    if (waitedMs > comesBackMs) return;
    if (!cleared && waitedMs > markedMs && live.transcriptSummary?.lastTurn.kind === "aborted") return;
  }
}
