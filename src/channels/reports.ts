import type { ChatMessage, ChatSession, ChatWork, MessageChange, NewMessage } from "../chats/index.ts";
import { hasCode, messageOf } from "../core/errors.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { PendingPermission, ReadOutput } from "../wire/coding.ts";
import type { SessionEvent } from "../wire/events.ts";
import type { Turn } from "../wire/turn.ts";
import type { Deliveries } from "./deliveries.ts";
import { turnMessages } from "./markdown.ts";
import type { ChatDeps } from "./ports.ts";
import { activityWords, isAtRest, questionMessage, settledQuestion, statusMessage } from "./session-messages.ts";
import type { Sessions } from "./sessions.ts";
import { plainMessage, styled } from "./styled.ts";

/** Reports on sessions to their chats: completed turns, questions and status. */
export interface Reports {
  /** Follows the events from the last position. */
  start(): Promise<void>;
  /** Checks the session now and reports changes. */
  look(sessionId: string): Promise<void>;
  /** Runs a task while nothing else reports on the session. */
  exclusively<T>(sessionId: string, task: () => Promise<T>): Promise<T>;
  /** Idempotent. */
  close(): Promise<void>;
}

const retryMs = 5_000;
const refreshMs = 15_000;
// A question is visible a moment before its hook can be answered.
const hookPatienceMs = 5_000;
const hookLookMs = 500;
const maxTurns = 50;

/** The key of a question's message in a chat. */
export function questionKey(chatId: string, permissionId: string): string {
  return `question:${chatId}:${permissionId}`;
}

export function createReports(
  deps: Pick<ChatDeps, "channel" | "chats" | "events" | "principal" | "sessionUrl" | "clock" | "log">,
  { sessions, deliveries }: { readonly sessions: Sessions; readonly deliveries: Deliveries },
): Reports {
  const { channel, chats, clock, log } = deps;
  const { store, outbox } = chats;
  const stopping = new AbortController();
  const { signal } = stopping;
  const lock = createKeyedLock();
  const timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  let following: Promise<void> = Promise.resolve();

  function look(sessionId: string): Promise<void> {
    return lock.run(sessionId, async () => {
      if (signal.aborted) return;
      try {
        await lookNow(sessionId);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ sessionId, reason: messageOf(error) }, "cannot report a session to its chats; trying again");
        lookLater(sessionId, retryMs);
      }
    });
  }

  function lookLater(sessionId: string, delayMs: number): void {
    const at = clock.now() + delayMs;
    const set = timers.get(sessionId);
    if (signal.aborted || (set !== undefined && set.at <= at)) return;
    set?.cancel();
    const cancel = clock.after(delayMs, () => {
      timers.delete(sessionId);
      void look(sessionId);
    });
    timers.set(sessionId, { at, cancel });
  }

  async function lookNow(sessionId: string): Promise<void> {
    const listeners = await store.listeners(sessionId);
    if (listeners.length === 0) return;
    const session = await readFor(sessionId, listeners);
    if (session === null) return store.unbind(sessionId);
    if (session.sessionId !== sessionId) {
      await store.move(sessionId, session.sessionId);
      return lookLater(session.sessionId, 0);
    }
    const canAnswer = await sessions.canAnswer();
    const open = await outbox.openQuestions(sessionId);
    for (const listener of listeners) {
      const parts = [
        turnNews(listener, session),
        questionNews(listener, session, { canAnswer, open }),
        await statusNews(listener, session),
      ];
      await publish(listener, parts);
    }
    if (listeners.some(({ statusKey }) => statusKey !== null) && !isAtRest(session)) lookLater(sessionId, refreshMs);
  }

  async function readFor(sessionId: string, listeners: readonly ChatSession[]): Promise<ReadOutput | null> {
    const reported = Math.min(...listeners.map(({ turnIndex }) => turnIndex));
    const blocks = listeners.some(({ statusKey }) => statusKey !== null);
    try {
      return await sessions.read({ sessionId, after: Math.max(-1, reported - 1), limit: maxTurns, blocks }, signal);
    } catch (error) {
      if (hasCode(error, "session_not_found")) return null; // forgotten, or no longer in a folder visible to chats
      throw error;
    }
  }

  async function publish(listener: ChatSession, parts: readonly News[]): Promise<void> {
    const progress = parts.reduce<ChatSession>((before, { now }) => ({ ...before, ...now }), listener);
    const say = parts.flatMap((part) => part.say ?? []);
    const change = parts.flatMap((part) => part.change ?? []);
    const work: ChatWork = { progress: [progress], say, change };
    if (say.length + change.length > 0 || JSON.stringify(progress) !== JSON.stringify(listener))
      await chats.settle(work);
    if (say.length + change.length > 0) deliveries.wake(listener.chatId);
  }

  function turnNews(listener: ChatSession, session: ReadOutput): News {
    let { turnIndex, turnLength } = listener;
    const say: NewMessage[] = [];
    for (const turn of session.turns) {
      const isNew = turn.index > turnIndex || (turn.index === turnIndex && turn.text.length > turnLength);
      if (!isNew || (turn.index > session.nextAfter && !isAtRest(session))) continue;
      const from = turn.index === turnIndex ? turnLength : 0;
      say.push(...messagesOfTurn(listener, turn, from));
      turnIndex = turn.index;
      turnLength = turn.text.length;
    }
    return { say, now: { turnIndex, turnLength } };
  }

  function messagesOfTurn(listener: ChatSession, turn: Turn, from: number): readonly NewMessage[] {
    if (turn.role !== "assistant") return [];
    const { chatId, sessionId, promptMessageId } = listener;
    const name = `turn-${turn.index}.md`;
    const bodies = turnMessages(turn.text.slice(from), { limits: channel.limits, replyTo: promptMessageId, name });
    return bodies.map((body, part) => ({
      key: `turn:${chatId}:${sessionId}:${turn.index}:${from}:${part}`,
      chatId,
      sessionId,
      body: JSON.stringify(body),
      final: true,
    }));
  }

  function questionNews(
    listener: ChatSession,
    session: ReadOutput,
    { canAnswer, open }: { readonly canAnswer: boolean; readonly open: readonly ChatMessage[] },
  ): News {
    const { chatId, sessionId, promptMessageId: replyTo } = listener;
    const say: NewMessage[] = [];
    const change: MessageChange[] = [];
    for (const permission of session.permissions) {
      if (isTooEarly(permission)) {
        lookLater(sessionId, hookLookMs);
        continue;
      }
      const key = questionKey(chatId, permission.permissionId);
      const context = { url: deps.sessionUrl(sessionId), agent: session.agent, replyTo };
      const message = questionMessage(permission, { ...context, canAnswer: canAnswer && permission.answerable });
      const body = JSON.stringify(message);
      const asked = open.some((question) => question.key === key);
      if (asked) change.push({ key, body, final: false });
      else say.push({ key, chatId, sessionId, permissionId: permission.permissionId, body, final: false });
    }
    for (const { key, body, permissionId, chatId: where } of open) {
      if (where !== chatId || session.permissions.some((pending) => pending.permissionId === permissionId)) continue;
      const settled = settledQuestion(body, "⏹ No longer open: it was answered elsewhere, or the turn was stopped.");
      change.push({ key, body: JSON.stringify(settled), final: true });
    }
    return { say, change, now: {} };
  }

  function isTooEarly({ answerable, askedAt }: PendingPermission): boolean {
    return !answerable && clock.now() - Date.parse(askedAt) < hookPatienceMs;
  }

  async function statusNews(listener: ChatSession, session: ReadOutput): Promise<News> {
    const { statusKey, chatId, sessionId, promptMessageId: replyTo } = listener;
    const status = statusKey === null ? null : await outbox.find(statusKey);
    if (statusKey === null || status === null) return { now: {} };
    const final = isAtRest(session) && session.queuedPrompts === 0;
    const body = JSON.stringify(statusMessage(session, { sinceMs: clock.now() - status.createdAt, replyTo }));
    const isAlarming = final && session.activity !== "idle" && session.closedAt === null;
    const alarm = activityWords(session);
    const say = !isAlarming
      ? []
      : [
          {
            key: `alarm:${statusKey}`,
            chatId,
            sessionId,
            body: JSON.stringify(plainMessage(styled(alarm), { replyTo })),
            final: true,
          },
        ];
    return { say, change: [{ key: statusKey, body, final }], now: { statusKey: final ? null : statusKey } };
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      try {
        const { folders: within } = await deps.principal();
        const after = await store.mark();
        for await (const message of deps.events({ after, sessionIds: null, within, signal })) {
          if (message.kind === "event") await onEvent(message.event);
          if (message.kind === "reset") await lookAtAll();
          if (message.kind === "position") await store.setMark(message.id);
          if (message.kind === "reset") await store.setMark(message.reset.id);
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn(
          { channel: channel.name, reason: messageOf(error) },
          "stopped following sessions for chats; trying again",
        );
        await clock.sleep(retryMs, signal).catch(() => undefined); // aborted: the loop ends
      }
    }
  }

  async function onEvent(event: SessionEvent): Promise<void> {
    if (event.kind === "session.created" && event.replaces !== null) {
      const { replaces } = event;
      if ((await store.listeners(replaces)).length > 0) await store.move(replaces, event.sessionId);
    }
    if ((await store.listeners(event.sessionId)).length === 0) return;
    await look(event.sessionId);
    await store.setMark(event.id);
  }

  async function lookAtAll(): Promise<void> {
    for (const sessionId of await store.sessionIds()) await look(sessionId);
  }

  return {
    async start() {
      following = follow();
      for (const sessionId of await store.unfinished()) lookLater(sessionId, 0);
    },
    look,
    exclusively: (sessionId, task) => lock.run(sessionId, task),
    async close() {
      stopping.abort();
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
      await following;
    },
  };
}

/** The changes found by one part of a check. */
interface News {
  readonly say?: readonly NewMessage[];
  readonly change?: readonly MessageChange[];
  /** The chat's new progress. */
  readonly now: Partial<ChatSession>;
}
