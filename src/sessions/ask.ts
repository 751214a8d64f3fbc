import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { AttachmentClaim, Attachments } from "../attachments/index.ts";
import type { Clock } from "../core/clock.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Transcripts } from "../transcripts/index.ts";
import { type Caller, ownsKey } from "../wire/caller.ts";
import type { AskOutput, Started } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import type { FolderRule, Worktrees } from "../worktrees/index.ts";
import {
  type AskOrder,
  type AskRequest,
  allowedMode,
  checkDraft,
  hashOf,
  mayFollow,
  once,
  requireAlone,
  requireMayPrompt,
  requireSameSession,
  wantedWorktree,
} from "./ask-rules.ts";
import { commandFolders } from "./completions.ts";
import { sessionError } from "./errors.ts";
import type { FolderScripts } from "./folder-scripts.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import { newCommand, newPrompt, type PromptTarget } from "./new-prompt.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { toAttachedFile } from "./session-attachments.ts";
import { createSetupWait, type OnSetup } from "./set-up.ts";
import { defaultSize, entryOf, type NewPrompt, type RunOptions, type Starter } from "./start.ts";
import { agentAndModel, defaultMode, type ProfileOf } from "./start-defaults.ts";
import { type CallerLimits, untilTaken, untilTurnEnds } from "./wait.ts";

export interface AskDeps extends FolderRule {
  readonly locator: SessionLocator;
  readonly starter: Starter;
  readonly queue: PromptQueue;
  readonly transcripts: Transcripts;
  readonly clock: Clock;
  readonly worktrees: Worktrees;
  readonly attachments: Pick<Attachments, "find" | "claim">;
  /** The state folder. */
  readonly home: string;
  readonly environmentOf: (template: AgentTemplate) => Environment;
  readonly profileOf: ProfileOf;
  readonly scripts: Pick<FolderScripts, "latest">;
  /** @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` */
  readonly resolveAgent: (
    name: string | undefined,
  ) => Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
}

interface AskTarget extends PromptTarget {
  /** Every id of the session; none for a new one. */
  readonly sessionIds: readonly string[];
}

/** A prompt on its way. */
interface Asked {
  readonly sessionId: string;
  readonly promptId: string;
  readonly started: Started;
  readonly ignored: readonly string[];
}

// Limits the gateway's queue while a turn runs. A caller with more prompts is not waiting for answers.
const maxQueued = 20;

/**
 * `coding_ask`: sends a prompt, into a new session or an existing one.
 * @see the specification, "coding_ask"
 */
export function createAsk(deps: AskDeps): (input: AskOrder, caller: Caller, signal: AbortSignal) => Promise<AskOutput> {
  const requests = createKeyedLock();
  /** Sessions whose setup is running, by the idempotency key of the request that started them. */
  const inSetup = new Map<string, string>();

  return async (input, caller, signal) => {
    const began = deps.clock.now();
    requireAlone(input);
    wantedWorktree(input);
    const permissionMode = allowedMode(input, caller);
    const place = await deps.resolveAllowedDir(input.dir, folderRule({ permissionMode, caller }));
    const deadline = began + (input.waitMs ?? Number.POSITIVE_INFINITY);
    const key = `${caller.accountId} ${input.idempotencyKey ?? ""}`;
    const { onSetup: note, race } = createSetupWait(deps.clock, deadline, () => {
      const sessionId = input.sessionId ?? inSetup.get(key);
      return sessionId === undefined ? null : deps.scripts.latest(sessionId, "setup");
    });
    const onSetup: OnSetup = (run) => {
      if (input.idempotencyKey !== undefined && run !== null) inSetup.set(key, run.sessionId);
      else if (run === null) inSetup.delete(key);
      note(run);
    };
    const request = { input, caller, permissionMode, place, signal, deadline, onSetup };
    const asking = once({ lock: requests, queue: deps.queue }, request, () =>
      input.sessionId === undefined ? askNew(deps, request) : askExisting(deps, input.sessionId, request),
    );
    const asked = await race(asking);
    return answer(deps, { ignored: [], ...asked }, request);
  };
}

/** An agent that never asks for permission needs a folder with the scope `exec`. */
function folderRule({ permissionMode, caller }: Pick<AskRequest, "permissionMode" | "caller">) {
  return { scope: permissionMode === "all" ? "exec" : "coding", caller } as const;
}

/** `waitMs` bounds the whole call, including the start of the agent. */
function limitsOf({ clock }: AskDeps, { deadline, signal }: AskRequest): CallerLimits {
  return { timeoutMs: deadline - clock.now(), signal };
}

async function askNew(deps: AskDeps, asked: AskRequest): Promise<Asked> {
  const { input, caller, place } = asked;
  const profile = await deps.profileOf(place.dir);
  const { branchPrefix } = profile;
  const permissionMode = input.permissionMode ?? (await defaultMode(profile, { dir: place.dir, caller }, deps));
  const request = { ...asked, permissionMode };
  const rule = folderRule(request);
  const wanted = wantedWorktree(input);
  const worktree = wanted && { ...wanted, branchPrefix, mayUse: (dir: string) => deps.isVisibleDir(dir, rule) };
  const { agent, model } = await agentAndModel(input, profile, deps.resolveAgent);
  const prompt = await promptOf(deps, request, { ...agent, dir: place.dir, sessionIds: [] });
  const options = { ...runOptions(request), model, systemPrompt: input.systemPrompt ?? null };
  const live = await deps.starter.start(agent, options, { prompt, worktree });
  await untilTaken(live, prompt.promptId, limitsOf(deps, request));
  await refuseFailedStart(deps, live, prompt.promptId);
  return { sessionId: live.record.sessionId, promptId: prompt.promptId, started: "new", ignored: [] };
}

async function askExisting(deps: AskDeps, sessionId: string, request: AskRequest): Promise<Asked> {
  const { input, caller } = request;
  const ignored = input.systemPrompt === undefined ? [] : ["systemPrompt"];
  const sent = await deps.locator.withSession(sessionId, caller, async (session) => {
    await requireSameSession(session, request, await deps.worktrees.ofSession(session.record.sessionId));
    const { dir, sessionId: known, aliases } = session.record;
    const prompt = await promptOf(deps, request, { ...session, dir, sessionIds: [known, ...aliases] });
    if (session.live === null) {
      const options = await resumeOptions(deps, session, request);
      const live = await deps.starter.resume(session, options, prompt);
      return { live, prompt, started: "resumed" as const, ignored };
    }
    await enqueue(deps, request, { live: session.live, prompt });
    const moreIgnored = input.permissionMode === undefined ? [] : ["permissionMode"];
    return { live: session.live, prompt, started: "reconnect" as const, ignored: [...ignored, ...moreIgnored] };
  });
  await untilTaken(sent.live, sent.prompt.promptId, limitsOf(deps, request));
  if (sent.started === "resumed") await refuseFailedStart(deps, sent.live, sent.prompt.promptId);
  const { sessionId: now } = sent.live.record;
  const { promptId } = sent.prompt;
  if (sent.live.exit !== null && (await deps.queue.stateOf(promptId)) === "queued") {
    return resumeWaiting(deps, request, { sessionId: now, promptId, ignored: sent.ignored });
  }
  return { sessionId: now, promptId, started: sent.started, ignored: sent.ignored };
}

/** The process ended before it received the prompt: the session is resumed with that prompt, unless the session was closed. */
async function resumeWaiting(
  deps: AskDeps,
  request: AskRequest,
  { sessionId, promptId, ignored }: Omit<Asked, "started">,
): Promise<Asked> {
  const live = await deps.locator.withSession(sessionId, request.caller, async (session) => {
    if (session.live !== null) return session.live; // another caller's prompt has resumed it, and ours is queued after it
    if ((await deps.queue.stateOf(promptId)) !== "queued") return null; // the session was closed, and the prompt given up
    // In the same permission mode as when the prompt was accepted.
    const { permissionMode } = session.record;
    const options = await resumeOptions(deps, session, { ...request, permissionMode });
    return deps.starter.resume(session, options, null);
  });
  if (live === null) return { sessionId, promptId, started: "reconnect", ignored };
  await untilTaken(live, promptId, limitsOf(deps, request));
  await refuseFailedStart(deps, live, promptId);
  return { sessionId: live.record.sessionId, promptId, started: "resumed", ignored };
}

async function enqueue(
  deps: AskDeps,
  request: AskRequest,
  { live, prompt }: { readonly live: LiveSession; readonly prompt: NewPrompt },
): Promise<void> {
  const { sessionId } = live.record;
  requireMayPrompt(live.record, request.caller);
  if (request.input.model !== undefined) {
    throw sessionError(
      "model_not_supported",
      `Session ${sessionId} is running, so its model cannot be changed. Omit "model", or close the session first.`,
    );
  }
  if (live.state.permissions.length > 0) {
    throw sessionError(
      "permission_pending",
      `Session ${sessionId} is waiting for an answer to a permission request. Answer that first: a prompt sent now would be taken as the answer.`,
    );
  }
  if (live.outbox.waitingCount >= maxQueued) {
    throw sessionError(
      "session_busy",
      `Session ${sessionId} already has ${maxQueued} queued prompts. Send this one later.`,
    );
  }
  const { onDraft } = request.input;
  await checkDraft(live, prompt, onDraft);
  await addToQueue(deps.queue, live, prompt);
  const { promptId, text, files, startsTurn } = prompt;
  const entry = { promptId, prompt: text, files, startsTurn, state: "queued", sentAt: null } as const;
  live.outbox.add({ ...entry, onDraft, mayFollow: mayFollow(prompt) });
}

/** If the agent reports its own id in the meantime, the prompt is stored under that id. */
async function addToQueue(queue: PromptQueue, live: LiveSession, prompt: NewPrompt): Promise<void> {
  for (;;) {
    const { sessionId } = live.record;
    try {
      await queue.add({ ...entryOf(sessionId, prompt), state: "queued", started: "reconnect" });
      // The process may have switched to another session in the meantime.
      if (prompt.undriven) await queue.markUndriven(live.record.sessionId);
      return;
    } catch (error) {
      if (live.record.sessionId === sessionId) throw error;
    }
  }
}

/** A session is resumed in its own directory, with that directory's rule, no matter which of its ids the caller used. */
async function resumeOptions(deps: AskDeps, session: LocatedSession, request: AskRequest): Promise<RunOptions> {
  const place = await deps.resolveAllowedDir(session.record.dir, folderRule(request));
  return runOptions({ ...request, place });
}

async function promptOf(deps: AskDeps, { input, caller }: AskRequest, to: AskTarget): Promise<NewPrompt> {
  const { prompt: text, allowCommands = false, idempotencyKey: key } = input;
  const idempotency = key === undefined ? null : { accountId: caller.accountId, key, requestHash: hashOf(input) };
  const target = { ...to, stateDir: deps.home };
  const prompt = await (input.kind === "command"
    ? newCommand({ text, idempotency }, caller, {
        ...target,
        env: deps.environmentOf(to.template),
        ...commandFolders(deps, caller),
      })
    : newPrompt({ text, allowCommands, idempotency }, caller, target));
  const { promptId } = prompt;
  return { ...prompt, ...(await filesOf(deps, { input, caller, promptId, sessionIds: to.sessionIds })) };
}

/** The prompt's attachments. They are not subject to the rule for mentions: their paths are the gateway's own. */
async function filesOf(
  { attachments }: AskDeps,
  prompt: Pick<AskRequest, "input" | "caller"> & Pick<AttachmentClaim, "promptId" | "sessionIds">,
): Promise<Pick<NewPrompt, "files" | "claimFiles">> {
  const { input, caller, promptId, sessionIds } = prompt;
  const { accountId } = caller;
  const attachmentIds = [...new Set(input.attachments)];
  if (attachmentIds.length === 0) return { files: [], claimFiles: undefined };
  const owns = (addedBy: string | null): boolean => ownsKey(caller, addedBy);
  const found = await attachments.find(attachmentIds, { accountId, owns });
  return {
    files: found.map(toAttachedFile),
    claimFiles: (sessionId, transaction) =>
      attachments.claim(
        { promptId, accountId, owns, attachmentIds, sessionId, sessionIds: [sessionId, ...sessionIds] },
        transaction,
      ),
  };
}

function runOptions({ input, permissionMode, place, onSetup }: AskRequest): RunOptions {
  return {
    onSetup,
    dir: place.dir,
    trustDir: place.trusted,
    model: input.model ?? null,
    permissionMode,
    size: defaultSize,
  };
}

/** An agent that ended before it accepted its first prompt counts as a failed start. @throws PosternError `agent_start_failed` */
async function refuseFailedStart(deps: AskDeps, live: LiveSession, promptId: string): Promise<void> {
  if (live.exit === null) return;
  // Only the store knows about a prompt that an earlier gateway sent or an earlier process received.
  const state = live.outbox.progressOf(promptId)?.state ?? (await deps.queue.stateOf(promptId));
  if (state === "delivered" || state === "unknown" || state === "received") return;
  // The caller receives an error, so no later resume may send the prompt.
  if (state === "queued") await deps.queue.mark(promptId, "lost");
  const { sessionId, exitCode, signal, lastScreen } = live.record;
  const how = signal === null ? `exit code ${exitCode ?? "unknown"}` : signal;
  throw sessionError(
    "agent_start_failed",
    `${live.template.name} ended (${how}) before it accepted the prompt. ${lastWords(sessionId, lastScreen)}`,
    { details: { sessionId, exitCode, signal, lastScreen: lastScreen ?? "" } },
  );
}

function lastWords(sessionId: string, lastScreen: string | null): string {
  if (lastScreen === "") return "It showed nothing. Check the agent with `postern doctor --smoke`, then try again.";
  return `Its last screen shows why: see \`postern coding read ${sessionId}\`. Check the agent with \`postern doctor --smoke\`, then try again.`;
}

async function answer(deps: AskDeps, asked: Asked, request: AskRequest): Promise<AskOutput> {
  const { caller, input } = request;
  const found = await deps.locator.locate(asked.sessionId, caller);
  const waiting = input.waitMs === undefined ? null : found.live;
  if (waiting !== null) {
    await untilTurnEnds(waiting, asked.promptId, { ...limitsOf(deps, request), clock: deps.clock });
    if (asked.started !== "reconnect") await refuseFailedStart(deps, waiting, asked.promptId);
  }
  const session = waiting === null ? found : await deps.locator.locate(asked.sessionId, caller);
  const progress = session.live?.outbox.progressOf(asked.promptId);
  const state = progress?.state ?? (await deps.queue.stateOf(asked.promptId)) ?? "unknown";
  return {
    ...(await deps.locator.summaryOf(session)),
    started: asked.started,
    delivered: state === "delivered" ? true : state === "lost" ? false : null,
    deliveryState: state,
    promptId: asked.promptId,
    ignored: [...asked.ignored],
    ...(input.waitMs === undefined
      ? {}
      : { turns: await turnsSince(deps, session, { waited: waiting, promptId: asked.promptId }) }),
  };
}

// A prompt produces two turns, and a few more if a person also types.
const maxAnsweredTurns = 100;

async function turnsSince(
  deps: AskDeps,
  session: LocatedSession,
  { waited, promptId }: { readonly waited: LiveSession | null; readonly promptId: string },
): Promise<Turn[]> {
  const path = session.live?.record.transcriptPath ?? session.record.transcriptPath;
  const progress = waited?.outbox.progressOf(promptId) ?? null;
  const format = session.template.transcriptFormat;
  if (path === null || format === null || progress === null || progress.state === "queued") return [];
  const read = await deps.transcripts.read(path, format, { after: progress.turnsBefore - 1, limit: maxAnsweredTurns });
  return [...(read?.turns ?? [])];
}
