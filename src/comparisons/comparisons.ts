import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Tables } from "../storage/schema.ts";
import type { Caller } from "../wire/caller.ts";
import type {
  Compared,
  ComparedSession,
  CompareInput,
  Comparison,
  ComparisonRead,
  KeepSessionInput,
  KeptSession,
} from "../wire/comparisons.ts";
import { type ContenderRow, createComparisonStore, type StoredComparison } from "./comparison-store.ts";
import { contenderState, isWorking, placeIn, readChain, type SessionChain } from "./contender-state.ts";
import type { ComparisonPorts } from "./ports.ts";
import { createStart } from "./start-contenders.ts";

/** Codes that this capability throws, in addition to those of its ports. */
export type ComparisonErrorCode =
  | "insufficient_scope"
  | "comparison_not_found"
  | "comparison_decided"
  | "agent_working"
  | "idempotency_conflict"
  | "session_not_found";

/** One prompt for several agents, each in its own worktree, all from the same commit. Comparisons belong to an account. */
export interface Comparisons {
  /**
   * Starts all contenders, without waiting for their turns.
   * @throws PosternError `insufficient_scope` | `idempotency_conflict`, those of {@link ComparisonPorts.baseOf}, and if no contender
   *   started, the error of the first one
   */
  compare(input: CompareInput, caller: Caller): Promise<Compared>;
  /** Newest first. */
  list(caller: Caller): Promise<readonly Comparison[]>;
  /** @throws PosternError `comparison_not_found` */
  read(comparisonId: string, caller: Caller): Promise<ComparisonRead>;
  /**
   * Keeps one session and closes the others with their worktrees; uncommitted work is saved as with `coding_close_session`. Can be
   * repeated for sessions that were not closed.
   * @throws PosternError `comparison_not_found` | `comparison_decided` | `session_not_found` | `agent_working`
   */
  keep(input: KeepSessionInput, caller: Caller): Promise<KeptSession>;
  /** Deletes the comparison; its sessions stay. @throws PosternError `comparison_not_found` */
  remove(comparisonId: string, caller: Caller): Promise<void>;
  /** Removes sessions, given all names that each ever had. */
  forget(sessionIds: readonly string[]): Promise<void>;
}

export function createComparisons(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: ComparisonPorts;
}): Comparisons {
  const { clock, log, ports } = deps;
  const store = createComparisonStore(deps.db);
  const start = createStart({ store, ports, log });
  const lock = createKeyedLock();

  async function find(comparisonId: string, caller: Caller): Promise<StoredComparison> {
    const found = await store.find(caller.accountId, comparisonId);
    if (found !== null && (await ports.isVisible(found.row.dir, caller))) return found;
    throw new PosternError(
      "comparison_not_found",
      `Comparison ${comparisonId} was not found, or you don't have access to it. List yours with \`postern coding compare list\`.`,
    );
  }

  /** Null for a contender without a session, or one that the caller cannot see. */
  async function chainOf({ session_id }: ContenderRow, caller: Caller, turns: "all" | "last") {
    if (session_id === null) return null;
    try {
      return await readChain(ports, session_id, { caller, turns });
    } catch (error) {
      if (isPosternError(error) && error.code === "session_not_found") return null;
      throw error;
    }
  }

  async function stateOf(
    contender: ContenderRow,
    caller: Caller,
    keptPosition: number | null,
  ): Promise<ComparedSession> {
    const chain = await chainOf(contender, caller, "all");
    const diff = chain === null ? null : await diffOf(placeIn(chain).sessionId, caller);
    return contenderState(contender, { chain, diff, kept: keptPosition === contender.position });
  }

  async function diffOf(sessionId: string, caller: Caller) {
    try {
      return await ports.diff(sessionId, caller);
    } catch (error) {
      // The worktree is removed, or the caller cannot read its files.
      if (isPosternError(error)) return null;
      throw error;
    }
  }

  async function keep({ comparisonId, sessionId, whileWorking = false }: KeepSessionInput, caller: Caller) {
    const { row, contenders } = await find(comparisonId, caller);
    const chains = await Promise.all(
      contenders.map(async (contender) => ({ contender, chain: await chainOf(contender, caller, "last") })),
    );
    // A session can be resumed in the terminal of another contender.
    const kept =
      chains.find(({ chain }) => hasName(chain && [chain[0]], sessionId)) ??
      chains.find(({ chain }) => hasName(chain, sessionId));
    if (kept === undefined) {
      throw new PosternError(
        "session_not_found",
        `Session ${sessionId} is not part of comparison ${comparisonId}, or you don't have access to it.`,
      );
    }
    const { position } = kept.contender;
    if (row.kept_position !== null && row.kept_position !== position) throw decided(comparisonId);
    const others = chains.flatMap(({ contender, chain }) =>
      contender.position === position || contender.session_id === null
        ? []
        : [{ agent: contender.agent, sessionId: contender.session_id, chain }],
    );
    const working = others.flatMap(({ chain }) => chain?.filter(({ activity }) => isWorking(activity)) ?? []);
    if (working.length > 0 && !whileWorking) {
      throw new PosternError(
        "agent_working",
        `${working.map(({ agent }) => agent).join(", ")} ${working.length === 1 ? "is" : "are"} still working. Nothing was closed. Wait, interrupt the turn, or set whileWorking to close it anyway.`,
        { details: { sessionIds: working.map((session) => session.sessionId) } },
      );
    }
    if (!(await store.keep(comparisonId, position))) throw decided(comparisonId);
    const closed = await Promise.all(others.map((other) => closeOne(other, caller)));
    const { accountId } = caller;
    await ports.note({
      ...{ action: "comparison_kept", accountId, subject: comparisonId },
      details: { session: sessionId, closed: closed.filter(({ error }) => error === null).length },
    });
    return { comparisonId, keptSessionId: latestId(kept.chain) ?? sessionId, closed };
  }

  /** A session that was continued has a process in the worktree, so the latest one is closed first. */
  async function closeOne(
    {
      agent,
      sessionId,
      chain,
    }: Omit<KeptSession["closed"][number], "worktree" | "error"> & {
      readonly chain: SessionChain | null;
    },
    caller: Caller,
  ): Promise<KeptSession["closed"][number]> {
    const place = chain && placeIn(chain);
    // A resumed session that has another worktree is not part of the comparison.
    const own = chain?.filter((session) => session.worktree === null || session === place);
    const ids = own?.map((session) => session.sessionId) ?? [sessionId];
    try {
      let worktree: KeptSession["closed"][number]["worktree"] = null;
      for (const id of ids.toReversed()) worktree = (await ports.close(id, caller)).worktree ?? worktree;
      return { agent, sessionId: place?.sessionId ?? sessionId, worktree, error: null };
    } catch (error) {
      const known = isPosternError(error);
      if (!known) log.error({ sessionId, reason: messageOf(error) }, "cannot close a session of a comparison");
      const code = known ? error.code : "internal_error";
      const detail = known ? error.message : "An unexpected error in the gateway. See its log.";
      return { agent, sessionId, worktree: null, error: { code, detail } };
    }
  }

  return {
    async compare(input, caller) {
      const { permissionMode = "ask", idempotencyKey: key = null } = input;
      if (permissionMode !== "ask" && !caller.scopes.has("coding:drive")) {
        throw new PosternError(
          "insufficient_scope",
          `permissionMode "${permissionMode}" needs the scope coding:drive.`,
          { details: { scope: "coding:drive" } },
        );
      }
      const wanted = { dir: input.dir, baseBranch: input.baseBranch ?? null };
      const scope = permissionMode === "all" ? "exec" : "coding";
      const base = await ports.baseOf({ ...wanted, scope }, caller);
      const task = () => start(input, { caller, base, comparisonId: newUuid(), now: clock.now() });
      return key === null ? task() : lock.run(`${caller.accountId} ${key}`, task);
    },

    async list(caller) {
      const shown: Comparison[] = [];
      for (const stored of await store.list(caller.accountId)) {
        if (await ports.isVisible(stored.row.dir, caller)) shown.push(comparisonOf(stored));
      }
      return shown;
    },

    async read(comparisonId, caller) {
      const stored = await find(comparisonId, caller);
      const { row, contenders } = stored;
      const sessions = await Promise.all(contenders.map((contender) => stateOf(contender, caller, row.kept_position)));
      const kept = sessions.find((session) => session.kept);
      const comparison = comparisonOf(stored);
      return { ...comparison, keptSessionId: kept?.sessionId ?? comparison.keptSessionId, sessions };
    },

    keep: (input, caller) => lock.run(`keep ${input.comparisonId}`, () => keep(input, caller)),

    async remove(comparisonId, caller) {
      await find(comparisonId, caller);
      await store.remove(caller.accountId, comparisonId);
    },

    forget: (sessionIds) => store.forget(sessionIds),
  };
}

function comparisonOf({ row, contenders }: StoredComparison): Comparison {
  return {
    comparisonId: row.comparison_id,
    title: row.title,
    dir: row.dir,
    baseBranch: row.base_branch,
    baseCommit: row.base_commit,
    createdAt: isoTime(row.created_at),
    keptSessionId: contenders.find(({ position }) => position === row.kept_position)?.session_id ?? null,
    agents: contenders.map(({ agent }) => agent),
  };
}

function hasName(chain: SessionChain | null, name: string): boolean {
  return chain?.some(({ sessionId, sessionAliases }) => sessionId === name || sessionAliases.includes(name)) ?? false;
}

function latestId(chain: SessionChain | null): string | null {
  return chain?.at(-1)?.sessionId ?? null;
}

function decided(comparisonId: string) {
  return new PosternError(
    "comparison_decided",
    `Another session of comparison ${comparisonId} was already kept. Resume this one with a prompt if you need it; its branch and saved work still exist.`,
  );
}
