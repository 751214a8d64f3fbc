import type { Kysely } from "kysely";
import type { Accounts } from "../accounts/index.ts";
import { searchText } from "../catalog/index.ts";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Events } from "../events/index.ts";
import type { Folders } from "../folders/index.ts";
import {
  createModelExtractor,
  createRecorder,
  type Extractor,
  type Logs,
  openLogs,
  type Recorder,
  type SessionPart,
} from "../logs/index.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import type { ReadOutput } from "../wire/coding.ts";
import type { Coding } from "./coding.ts";
import type { Config } from "./config.ts";

/** The memory, and the recorder of sessions. */
export interface Memory {
  readonly logs: Logs;
  readonly record: Recorder["record"];
  /** Starts recording sessions automatically, as configured. */
  start(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface MemoryDeps {
  readonly config: Pick<Config, "memory" | "env">;
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly clock: Clock;
  readonly log: Log;
  readonly erasure: Erasure;
  readonly accounts: Pick<Accounts, "owner" | "audit">;
  readonly folders: Pick<Folders, "visibleAmong" | "resolveAllowedDir">;
  readonly coding: Pick<Coding, "read" | "sessionPlaceOf" | "changedSince" | "forgottenAt" | "namesOf">;
  readonly events: Pick<Events, "stream">;
}

export async function openMemory(deps: MemoryDeps): Promise<Memory> {
  const { config, accounts, coding, events, folders } = deps;
  const logs = await openLogs({
    ...deps,
    searchText,
    extractor: extractorOf(config, deps),
    visibleAmong: (dirs, within) => folders.visibleAmong(dirs, { scope: "coding", within }),
    resolveDir: async (dir, within) => (await folders.resolveAllowedDir(dir, { scope: "coding", within })).dir,
    namesOf: (sessionId) => coding.namesOf(sessionId),
    noteDeletion: (note, within) => accounts.audit.note(note, within),
  });
  const recorder = createRecorder({
    ...deps,
    mode: config.memory.record,
    record: (accountId, recording) => logs.record(accountId, recording),
    follow: ({ after, signal }) => events.stream({ after, sessionIds: null, within: null, signal }),
    changedSince: (epochMs, after) => coding.changedSince(epochMs, after),
    namesOf: (sessionId) => coding.namesOf(sessionId),
    forgottenAt: (sessionId) => coding.forgottenAt(sessionId),
    owner: async () => (await accounts.owner()).accountId,
    async read(sessionId, { after, limit }, { caller, signal }) {
      const scopes = new Set<Scope>(["coding:read"]);
      const part = { sessionId, after, before: after + 1 + limit, limit };
      const session = await coding.read(part, { ...caller, scopes }, signal);
      return partOf(session, await coding.sessionPlaceOf(session.dir));
    },
  });
  return {
    logs,
    record: (sessionId, caller, signal) => recorder.record(sessionId, caller, signal),
    start: () => recorder.start(),
    async close() {
      await recorder.close();
      await logs.close();
    },
  };
}

function partOf(session: ReadOutput, place: Awaited<ReturnType<Coding["sessionPlaceOf"]>>): SessionPart {
  const { sessionId, title, agent, branch, turns, turnCount, activity } = session;
  const { dir, repository, worktree } = place;
  const last = turns.at(-1);
  const isLast = last !== undefined && last.index === turnCount - 1;
  const continues = isLast && (last.role === "user" || session.nextAfter < last.index);
  return {
    sessionId,
    title,
    dir,
    context: { agent, repository, branch, cwd: session.dir, worktree },
    turns,
    turnCount,
    unfinished: !continues ? null : activity === "idle" ? "unwritten" : "running",
    isOver: session.status === "completed" || session.status === "failed",
  };
}

const usualKeyVariable = "POSTERN_EXTRACTOR_API_KEY";

/**
 * The model of `memory.extractor`, or null.
 * @throws PosternError `invalid_configuration` when a required key is missing
 */
function extractorOf(
  config: Pick<Config, "memory" | "env">,
  deps: { readonly clock: Clock; readonly log: Log },
): Extractor | null {
  const settings = config.memory.extractor;
  if (settings === undefined) return null;
  const { provider, baseUrl, model, apiKeyVariable } = settings;
  const apiKey = config.env[apiKeyVariable ?? usualKeyVariable]?.trim() ?? "";
  if (apiKey === "" && (provider === "anthropic" || apiKeyVariable !== undefined)) {
    throw new PosternError(
      "invalid_configuration",
      `The setting "memory.extractor" needs a key, but the variable ${apiKeyVariable ?? usualKeyVariable} is empty. Set it in the gateway's environment, or remove the setting.`,
    );
  }
  const { origin } = new URL(baseUrl);
  deps.log.info({ model, origin, key: apiKey !== "" }, "memory entries are sent to a model");
  return createModelExtractor({ provider, baseUrl, model, apiKey: apiKey === "" ? null : apiKey, clock: deps.clock });
}
