import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { Caller } from "../wire/caller.ts";
import type { Compared, CompareInput } from "../wire/comparisons.ts";
import type { ComparisonRow, ComparisonStore, ContenderRow, StoredComparison } from "./comparison-store.ts";
import type { ComparisonPorts } from "./ports.ts";

interface StartRequest {
  readonly caller: Caller;
  readonly base: { readonly dir: string; readonly baseBranch: string; readonly baseCommit: string };
  /** The ids for a new comparison. */
  readonly comparisonId: string;
  readonly now: number;
}

type Outcome = Pick<ContenderRow, "session_id" | "error_code" | "error_detail">;

/**
 * Stores a comparison and starts its contenders. A repeated request starts only those without an outcome, for example after a crash.
 * Requests with the same idempotency key must not run at once.
 */
export function createStart(deps: {
  readonly store: ComparisonStore;
  readonly ports: ComparisonPorts;
  readonly log: Log;
}): (input: CompareInput, request: StartRequest) => Promise<Compared> {
  const { store, ports, log } = deps;

  return async (input, request) => {
    const { row, contenders } = await begin(input, request);
    const failures: unknown[] = [];
    const started = await Promise.all(
      contenders.map(async (contender) => {
        if (contender.session_id !== null || contender.error_code !== null) return contender;
        const outcome = await startOne({ input, row, contender, caller: request.caller }, (error) =>
          failures.push(error),
        );
        await store.setOutcome(contender, outcome);
        return { ...contender, ...outcome };
      }),
    );
    if (started.every(({ session_id }) => session_id === null)) {
      await store.remove(row.account_id, row.comparison_id);
      throw failures[0];
    }
    return {
      comparisonId: row.comparison_id,
      sessions: started.map(({ agent, model, session_id, error_code, error_detail }) => ({
        ...{ agent, model, sessionId: session_id },
        error: error_code === null ? null : { code: error_code, detail: error_detail ?? "" },
      })),
    };
  };

  async function begin(input: CompareInput, request: StartRequest): Promise<StoredComparison> {
    const { caller, base, comparisonId, now } = request;
    const { idempotencyKey: key = null } = input;
    const requestHash = hashOf(input);
    const known = key === null ? null : await store.findByKey(caller.accountId, key);
    const stored = known ?? (await store.begin(newRow(), newContenders()));
    if (stored.row.request_hash === requestHash) return stored;
    throw new PosternError(
      "idempotency_conflict",
      `The idempotencyKey "${key}" was already used for a different request. Use a new key for each request.`,
    );

    function newRow(): ComparisonRow {
      return {
        comparison_id: comparisonId,
        account_id: caller.accountId,
        idempotency_key: key,
        request_hash: requestHash,
        title: ports.titleOf(input.prompt),
        dir: base.dir,
        base_branch: base.baseBranch,
        base_commit: base.baseCommit,
        created_at: now,
        kept_position: null,
      };
    }

    function newContenders(): readonly ContenderRow[] {
      return input.contenders.map(({ agent, model = null }, position) => ({
        ...{ comparison_id: comparisonId, position, agent, model },
        ...{ session_id: null, error_code: null, error_detail: null },
      }));
    }
  }

  async function startOne(
    {
      input,
      row,
      contender,
      caller,
    }: {
      readonly input: CompareInput;
      readonly row: ComparisonRow;
      readonly contender: ContenderRow;
      readonly caller: Caller;
    },
    onFailure: (error: unknown) => void,
  ): Promise<Outcome> {
    const { comparison_id, position, agent, model } = contender;
    const { attachments: originals = [], permissionMode } = input;
    const copies: string[] = [];
    try {
      // The first contender gets the files of the request.
      if (position > 0) copies.push(...(await ports.copyAttachments(originals, caller)));
      const attachments = position === 0 ? originals : copies;
      const { sessionId } = await ports.ask(
        {
          ...{ agent, dir: row.dir, prompt: input.prompt },
          ...{ worktree: { baseBranch: row.base_branch }, baseCommit: row.base_commit },
          ...(model !== null && { model }),
          ...(permissionMode !== undefined && { permissionMode }),
          ...(attachments.length > 0 && { attachments }),
          idempotencyKey: `compare ${comparison_id} ${position}`,
        },
        caller,
      );
      return { session_id: sessionId, error_code: null, error_detail: null };
    } catch (error) {
      const known = isPosternError(error);
      const sessionId = known && typeof error.details["sessionId"] === "string" ? error.details["sessionId"] : null;
      // The session starts later, with this prompt.
      if (known && error.code === "setup_running" && sessionId !== null) {
        return { session_id: sessionId, error_code: null, error_detail: null };
      }
      onFailure(error);
      if (copies.length > 0) await ports.detach(copies, caller);
      if (!known) log.error({ agent, reason: messageOf(error) }, "cannot start a session of a comparison");
      return {
        session_id: sessionId,
        error_code: known ? error.code : "internal_error",
        error_detail: known ? error.message : "An unexpected error in the gateway. See its log.",
      };
    }
  }
}

/** Hashes what the request asks for. */
function hashOf({ idempotencyKey: _key, ...request }: CompareInput): string {
  return sha256(JSON.stringify(Object.entries(request).toSorted(([left], [right]) => (left < right ? -1 : 1))));
}
