import type { Attachments, StoredAttachment } from "../attachments/index.ts";
import { isoTime } from "../core/clock.ts";
import { type Caller, ownsKey } from "../wire/caller.ts";
import type {
  CancelledPrompt,
  CancelPromptInput,
  ChangedPrompt,
  EditPromptInput,
  PromptQueueOutput,
  QueuedPrompt,
} from "../wire/queue.ts";
import type { FolderRule } from "../worktrees/index.ts";
import { mayFollow, requireMayPrompt } from "./ask-rules.ts";
import { sessionError } from "./errors.ts";
import type { TurnStopper } from "./interrupt.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import { newPrompt } from "./new-prompt.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { commandIn } from "./prompt-text.ts";
import type { QueueStore, WaitingPrompt } from "./queue-store.ts";
import type { SessionEvents } from "./session-events.ts";
import { defaultSize, type Starter } from "./start.ts";
import { untilTaken } from "./wait.ts";

export interface QueueDeps extends Pick<FolderRule, "resolveAllowedDir"> {
  readonly locator: SessionLocator;
  readonly starter: Starter;
  readonly queue: Pick<PromptQueue, "stateOf" | "markUndriven">;
  readonly waiting: QueueStore;
  readonly turns: TurnStopper;
  readonly attachments: Pick<Attachments, "ofPrompts">;
  readonly events: Pick<SessionEvents, "queueChanged">;
  /** The state folder. */
  readonly home: string;
}

/** What a caller can do with a session's queued prompts. */
export interface Queue {
  list(sessionId: string, caller: Caller): Promise<PromptQueueOutput>;
  /** @throws PosternError `prompt_not_found` | `prompt_already_sent` | `prompt_not_text` | `insufficient_scope` | the errors of a resume */
  change(input: EditPromptInput, caller: Caller, signal: AbortSignal): Promise<ChangedPrompt>;
  /** @throws PosternError `prompt_not_found` | `prompt_already_sent` */
  cancel(input: CancelPromptInput, caller: Caller): Promise<CancelledPrompt>;
}

/** @see Queue */
export function createQueue(deps: QueueDeps): Queue {
  const { locator, waiting } = deps;

  async function listOf(session: LocatedSession, caller: Caller): Promise<PromptQueueOutput> {
    const { sessionId } = (session.live ?? session).record;
    const prompts = await waiting.waiting(sessionId);
    const files = await deps.attachments.ofPrompts(prompts.map(({ promptId }) => promptId));
    const shownOf = (prompt: WaitingPrompt, position: number): QueuedPrompt =>
      shown(prompt, session, { caller, position, files: files.get(prompt.promptId) });
    return { sessionId, prompts: prompts.map(shownOf) };
  }

  /** Notifies a live session, which publishes the change. For a session without a process, it is published here. */
  async function note(
    session: LocatedSession,
    change: Parameters<NonNullable<LocatedSession["live"]>["outbox"]["changeQueue"]>[0],
  ): Promise<void> {
    if (session.live !== null) return session.live.outbox.changeQueue(change);
    const { sessionId } = session.record;
    const promptIds = (await waiting.waiting(sessionId)).map(({ promptId }) => promptId);
    await deps.events.queueChanged(session.record, promptIds);
  }

  async function edit(
    session: LocatedSession,
    { promptId, text }: { readonly promptId: string; readonly text: string },
    caller: Caller,
  ): Promise<void> {
    requireMayPrompt(session.record, caller);
    const { template, record, live } = session;
    const written = { text, allowCommands: false, idempotency: null };
    const prompt = await newPrompt(written, caller, { template, dir: record.dir, stateDir: deps.home });
    if (prompt.undriven) await deps.queue.markUndriven((live ?? session).record.sessionId);
    await waiting.edit(promptId, prompt.text);
    // The process may have switched to another session in the meantime.
    if (prompt.undriven) await deps.queue.markUndriven((live ?? session).record.sessionId);
    const before = live?.outbox.waitingPrompt(promptId);
    const { onDraft, files = [] } = before ?? {};
    const edited = { promptId, prompt: prompt.text, files, state: "queued", sentAt: null, onDraft } as const;
    await note(session, { kind: "edited", prompt: { ...edited, mayFollow: mayFollow(prompt) } });
  }

  async function move(session: LocatedSession, promptId: string, place: number): Promise<void> {
    const before = await waiting.waiting(session.record.sessionId);
    const promptIds = await waiting.move(promptId, place);
    if (before.every((prompt, at) => prompt.promptId === promptIds[at])) return;
    await note(session, { kind: "moved", promptIds });
  }

  /** Resumes a session without a process in its own mode, as its next prompt would resume it. */
  async function resume(session: LocatedSession, caller: Caller) {
    const { dir, permissionMode } = session.record;
    const scope = permissionMode === "all" ? "exec" : "coding";
    const place = await deps.resolveAllowedDir(dir, { scope, caller });
    const options = { dir: place.dir, trustDir: place.trusted, model: null, permissionMode, size: defaultSize };
    return deps.starter.resume(session, options, null);
  }

  /** The session is locked throughout, so no prompt is added and no agent started. */
  function apply(input: EditPromptInput, caller: Caller): Promise<LiveSession | null> {
    const { sessionId, promptId, text, position, sendNow: now = false } = input;
    return locator.withSession(sessionId, caller, async (session) => {
      if (now) requireMayPrompt(session.record, caller);
      requireMayChange(await waiting.find(session.record.sessionId, promptId), caller);
      if (text !== undefined) await edit(session, { promptId, text }, caller);
      const place = now ? 0 : position;
      if (place !== undefined) await move(session, promptId, place);
      return session.live ?? (now ? resume(session, caller) : null);
    });
  }

  /** While the agent is held, nothing is typed, so the stopped turn is never this prompt's own. */
  async function sendNow(input: EditPromptInput, caller: Caller, signal: AbortSignal): Promise<void> {
    const { promptId } = input;
    const { live: held } = await locator.locate(input.sessionId, caller);
    const change = async () => {
      const live = await apply(input, caller);
      const isWanted = (): boolean => live?.outbox.progressOf(promptId)?.state === "queued";
      if (live !== null && live === held) await deps.turns.stop(live, { signal, isWanted });
      return live;
    };
    const live = held === null ? await change() : await held.outbox.hold(change);
    if (live !== null) await untilTaken(live, promptId, { timeoutMs: takenMs, signal });
  }

  return {
    async list(sessionId, caller) {
      return listOf(await locator.locate(sessionId, caller), caller);
    },

    async change(input, caller, signal) {
      const { sessionId, promptId, text, position, sendNow: now = false } = input;
      if (text === undefined && position === undefined && !now) {
        throw sessionError("invalid_request", 'Nothing to change. Set "text", "position" or "sendNow".');
      }
      if (now) await sendNow(input, caller, signal);
      else await apply(input, caller);
      const session = await locator.locate(sessionId, caller);
      const progress = session.live?.outbox.progressOf(promptId);
      const deliveryState = progress?.state ?? (await deps.queue.stateOf(promptId)) ?? "unknown";
      return { ...(await listOf(session, caller)), promptId, deliveryState };
    },

    async cancel({ sessionId, promptId }, caller) {
      const cancelled = await locator.withSession(sessionId, caller, async (session) => {
        const { prompts } = await listOf(session, caller);
        const found = await waiting.find(session.record.sessionId, promptId);
        requireMayChange(found, caller);
        await waiting.cancel(promptId);
        await note(session, { kind: "cancelled", promptId });
        const files = (await deps.attachments.ofPrompts([promptId])).get(promptId);
        const position = prompts.findIndex((other) => other.promptId === promptId);
        return shown(found, session, { caller, position: Math.max(0, position), files });
      });
      return { ...(await listOf(await locator.locate(sessionId, caller), caller)), cancelled };
    },
  };
}

// A prompt is accepted within a second after it is sent. If not, the caller sees it in the queue.
const takenMs = 10_000;

function mayChange({ askedBy }: WaitingPrompt, caller: Caller): boolean {
  return caller.scopes.has("coding:drive") || ownsKey(caller, askedBy);
}

/** @throws PosternError `insufficient_scope` */
function requireMayChange(prompt: WaitingPrompt, caller: Caller): void {
  if (mayChange(prompt, caller)) return;
  throw sessionError(
    "insufficient_scope",
    `Another caller queued prompt ${prompt.promptId}. Changing it needs the scope coding:drive.`,
    { details: { scope: "coding:drive" } },
  );
}

interface Shown {
  readonly caller: Caller;
  readonly position: number;
  readonly files: readonly StoredAttachment[] | undefined;
}

function shown(
  prompt: WaitingPrompt,
  { template }: Pick<LocatedSession, "template">,
  { caller, position, files = [] }: Shown,
): QueuedPrompt {
  const { promptId, text, createdAt } = prompt;
  const kind = commandIn(text, template) === null ? "text" : "command";
  const attachments = files.map(
    ({ path: _path, sessionId: _sessionId, addedBy: _addedBy, ...attachment }) => attachment,
  );
  const canChange = mayChange(prompt, caller);
  return { promptId, position, text, kind, queuedAt: isoTime(createdAt), attachments, canChange };
}
