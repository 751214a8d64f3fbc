import { expect, onTestFinished } from "vitest";
import type { Principal } from "../../src/accounts/index.ts";
import { openChatFace } from "../../src/channels/index.ts";
import { createTelegram } from "../../src/channels/telegram/telegram.ts";
import { createChats } from "../../src/chats/index.ts";
import { isoTime, systemClock } from "../../src/core/clock.ts";
import { PosternError } from "../../src/core/errors.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import { createEventLog } from "../../src/events/event-log.ts";
import { createEventStore } from "../../src/events/event-store.ts";
import { streamEvents } from "../../src/events/event-stream.ts";
import { toProblem } from "../../src/http/index.ts";
import { type Scope, scopes } from "../../src/wire/access.ts";
import {
  type AnswerPermissionInput,
  type AskInput,
  answerPermissionInputSchema,
  askInputSchema,
  emptyInputSchema,
  type PendingPermission,
  readInputSchema,
} from "../../src/wire/coding.ts";
import type { NewSessionEvent } from "../../src/wire/events.ts";
import type { PermissionRulesPreview } from "../../src/wire/permission-rules.ts";
import { cancelPromptInputSchema, listPromptsInputSchema, type QueuedPrompt } from "../../src/wire/queue.ts";
import { listInputSchema } from "../../src/wire/session-lists.ts";
import type { Tool } from "../../src/wire/tool.ts";
import type { Turn } from "../../src/wire/turn.ts";
import type { OpenTestStore, TestStore } from "./database.ts";
import { type FakeBotApi, type ShownMessage, startFakeBotApi } from "./fake-bot-api.ts";
import { readOutput, sessionSummary, turn } from "./scripted-gateway.ts";

/** The one on the list. */
export const me = { id: 1001, username: "owner" };
/** The bot's. */
export const sceneToken = "1:scene";
const patience = { timeout: 15_000, interval: 20 };

/** A session that a test plays. */
export interface PlayedSession {
  readonly sessionId: string;
  readonly dir: string;
  readonly turns: Turn[];
  activity: "working" | "idle" | "needs_permission" | "needs_answer" | "needs_attention" | null;
  permissions: PendingPermission[];
}

/** Sessions that a test plays, behind the table of tools: they live on when the chat's side is ended and opened again. */
export interface PlayedSessions {
  readonly tools: readonly Tool<Principal>[];
  readonly asked: readonly AskInput[];
  readonly answered: readonly AnswerPermissionInput[];
  readonly all: ReadonlyMap<string, PlayedSession>;
  /** Files that a chat added. */
  readonly attached: { readonly name: string; readonly sessionId: string | null; readonly bytes: Buffer }[];
  /** The standing rules that are offered. */
  rulesPreview: PermissionRulesPreview;
  /** The prompts that wait, in every session. */
  queued: QueuedPrompt[];
  /** What happens when a prompt was accepted; by default the turn ends immediately with its echo. */
  onAsk: (session: PlayedSession, prompt: string) => void;
  /** Called before a prompt is taken. */
  beforeAsk: () => Promise<void>;
  /** Called when it was accepted, before the caller is notified. */
  afterAsk: () => Promise<void>;
}

function createPlayedSessions(): PlayedSessions {
  const all = new Map<string, PlayedSession>();
  const asked: AskInput[] = [];
  const answered: AnswerPermissionInput[] = [];
  const remembered = new Map<string, { readonly sessionId: string; readonly hash: string }>();
  const effects = { readOnly: false, destructive: false, idempotent: false, openWorld: false };
  const played: Omit<PlayedSessions, "tools" | "asked" | "answered" | "all"> = {
    attached: [],
    queued: [],
    rulesPreview: { rules: [], undriven: false, covers: false, refusal: "Nothing can cover it." },
    beforeAsk: async () => undefined,
    afterAsk: async () => undefined,
    onAsk: (session, prompt) => endTurn(session, `ECHO ${prompt}`),
  };

  function tool<Input>(row: Pick<Tool<Principal, Input>, "name" | "input" | "scope" | "run">): Tool<Principal, Input> {
    return {
      ...row,
      title: row.name,
      description: row.name,
      output: emptyInputSchema,
      effects,
      quotesTranscripts: true,
    };
  }

  function find(sessionId: string): PlayedSession {
    const session = all.get(sessionId);
    if (session === undefined) throw new PosternError("session_not_found", `There is no session ${sessionId}.`);
    return session;
  }

  async function ask(input: AskInput): Promise<unknown> {
    await played.beforeAsk();
    const { idempotencyKey = "", ...rest } = input;
    const before = remembered.get(idempotencyKey);
    if (before !== undefined && before.hash !== JSON.stringify(rest)) {
      throw new PosternError("idempotency_conflict", "Another request has this key.");
    }
    if (input.prompt.startsWith("!")) throw new PosternError("prompt_not_text", "The prompt begins with !");
    const known = before?.sessionId ?? input.sessionId;
    const session = known === undefined ? begin(input.dir) : find(known);
    if (before === undefined) {
      asked.push(input);
      remembered.set(idempotencyKey, { sessionId: session.sessionId, hash: JSON.stringify(rest) });
      session.turns.push(turn(session.turns.length, input.prompt));
      session.activity = "working";
      played.onAsk(session, input.prompt);
    }
    await played.afterAsk();
    return {
      ...summaryOf(session),
      started: "new",
      delivered: true,
      deliveryState: "delivered",
      promptId: "",
      ignored: [],
    };
  }

  function begin(dir: string): PlayedSession {
    const sessionId = `0b0c0000-0000-4000-8000-${String(all.size).padStart(12, "0")}`;
    const session: PlayedSession = { sessionId, dir, turns: [], activity: "working", permissions: [] };
    all.set(sessionId, session);
    return session;
  }

  const tools: readonly Tool<Principal>[] = [
    tool({ name: "coding_ask", input: askInputSchema, scope: "coding:write", run: ask }),
    tool({
      name: "coding_read_session",
      input: readInputSchema,
      scope: "coding:read",
      async run({ sessionId, after = -1, last }) {
        const session = find(sessionId);
        const turns = session.turns.filter(({ index }) => index > after).slice(last === undefined ? 0 : -last);
        const nextAfter = turns.at(-1)?.index ?? after;
        return readOutput({ ...summaryOf(session), turns, nextAfter });
      },
    }),
    tool({
      name: "coding_list_sessions",
      input: listInputSchema,
      scope: "coding:read",
      run: async () => {
        const sessions = [...all.values()].map(summaryOf);
        return { sessions, total: sessions.length, limit: 8, offset: 0, hasMore: false, indexing: null };
      },
    }),
    tool({
      name: "coding_answer_permission",
      input: answerPermissionInputSchema,
      scope: "coding:drive",
      async run(input) {
        const session = find(input.sessionId);
        const open = session.permissions.find(({ permissionId }) => permissionId === input.permissionId);
        if (open === undefined) throw new PosternError("permission_gone", "It was answered.");
        if ((open.kind === "dialog") !== (input.decision === undefined && input.choice !== undefined)) {
          throw new PosternError("invalid_request", `This does not answer a ${open.kind}.`);
        }
        answered.push(input);
        session.permissions = [];
        session.activity = "working";
        endTurn(session, `DECIDED ${input.decision ?? input.choice}`);
        return summaryOf(session);
      },
    }),
    tool({
      name: "coding_list_prompts",
      input: listPromptsInputSchema,
      scope: "coding:read",
      run: async ({ sessionId }) => ({ sessionId: find(sessionId).sessionId, prompts: played.queued }),
    }),
    tool({
      name: "coding_cancel_prompt",
      input: cancelPromptInputSchema,
      scope: "coding:write",
      async run({ sessionId, promptId }) {
        const cancelled = played.queued.find((prompt) => prompt.promptId === promptId);
        if (cancelled === undefined) throw new PosternError("prompt_already_sent", "It was sent.");
        played.queued = played.queued.filter((prompt) => prompt !== cancelled);
        return { sessionId, prompts: played.queued, cancelled };
      },
    }),
  ];
  return Object.assign(played, { tools, asked, answered, all });
}

/** The agent has said this, and waits. */
export function endTurn(session: PlayedSession, text: string): void {
  session.turns.push(turn(session.turns.length, text));
  session.activity = "idle";
}

function summaryOf({ sessionId, dir, activity, permissions, turns }: PlayedSession) {
  return sessionSummary({ sessionId, dir, activity, permissions, turnCount: turns.length, title: "A session" });
}

/** A chat's side of a gateway on a separate store, with a stand-in for Telegram and sessions that the test plays. */
export interface ChatScene {
  readonly bot: FakeBotApi;
  readonly sessions: PlayedSessions;
  readonly store: TestStore;
  /** Ends the chat's side, and opens it again on the same store. */
  restart(): Promise<void>;
  end(): Promise<void>;
  begin(): Promise<void>;
  tell(session: PlayedSession, kind?: "turn_ended" | "activity"): void;
  shown(words: string, more?: (message: ShownMessage) => boolean): Promise<ShownMessage>;
}

/** Opens a scene; everything ends with the test. */
export async function openChatScene(
  openStore: OpenTestStore,
  options: {
    readonly scopes?: readonly Scope[];
    readonly folders?: readonly string[];
    readonly log?: Log;
    readonly apiRoot?: string;
  } = {},
): Promise<ChatScene> {
  const { folders = ["/code/project"], log = silentLog } = options;
  const granted = new Set(options.scopes ?? scopes);
  const store = await openStore();
  const bot = await startFakeBotApi({ token: sceneToken });
  const clock = systemClock;
  const sessions = createPlayedSessions();
  const events = await createEventLog({
    store: createEventStore(store.db),
    clock,
    log,
    alsoWrite: async () => async () => undefined,
  });
  const channel = await createTelegram({ token: sceneToken, apiRoot: options.apiRoot ?? bot.url, pollSeconds: 2 });
  const quick = { ...channel, limits: { ...channel.limits, betweenMessagesMs: 5, maxMessagesPerSecond: 1_000 } };
  const principal: Principal = {
    accountId: "owner",
    kind: "socket",
    scopes: granted,
    folders: null,
    tokenId: null,
    browserSessionId: null,
    app: null,
    resource: "all",
    expiresAt: null,
  };
  const open = () =>
    openChatFace({
      channel: quick,
      chats: createChats({ db: store.db, clock, channel: "telegram" }),
      tools: sessions.tools,
      async attach({ name, sessionId }, body) {
        const parts: Uint8Array[] = [];
        for await (const part of body) parts.push(part);
        const bytes = Buffer.concat(parts);
        sessions.attached.push({ name, sessionId, bytes });
        const attachmentId = `00000000-0000-4000-8000-${String(sessions.attached.length).padStart(12, "0")}`;
        return { attachmentId, name, mediaType: "image/png", sizeBytes: bytes.length, sha256: "" };
      },
      previewRules: async () => sessions.rulesPreview,
      principal: async () => principal,
      events: (wanted) => streamEvents({ log: events, isVisible: async () => true, clock }, wanted),
      folders: async () => folders,
      allowedDir: async (dir) => dir,
      problemOf: (error, requestId) => toProblem(error, requestId).problem,
      sessionUrl: (sessionId) => `http://localhost/sessions/${sessionId}`,
      allowedUserIds: new Set([String(me.id)]),
      clock,
      log,
    });
  let face = await open();
  onTestFinished(async () => {
    await face.close();
    await events.close();
    await bot.close();
  });
  return {
    bot,
    sessions,
    store,
    end: () => face.close(),
    async begin() {
      face = await open();
    },
    async restart() {
      await face.close();
      face = await open();
    },
    tell({ sessionId, dir, activity }, kind = "turn_ended") {
      const head = { at: isoTime(clock.now()), sessionId, agent: "claude-code", dir };
      const event: NewSessionEvent =
        kind === "turn_ended"
          ? { kind: "session.turn_ended", ...head }
          : { kind: "session.activity", ...head, activity: activity ?? "idle", previous: null };
      events.publish({ events: [event], memos: new Map() });
    },
    async shown(words, more = () => true) {
      const found = (): ShownMessage | undefined =>
        bot.messages.find((message) => message.text.includes(words) && more(message));
      await expect
        .poll(found, {
          ...patience,
          message: `nothing says "${words}": ${JSON.stringify(bot.messages.map(({ text }) => text))}`,
        })
        .toBeDefined();
      const message = found();
      if (message === undefined) throw new Error("It was there a moment ago.");
      return message;
    },
  };
}
