import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Look, LookKey, Looks, Worktrees } from "../worktrees/index.ts";
import type { ActivityState } from "./activity.ts";
import type { SessionRecord } from "./session-store.ts";

/** The files of sessions as they were when their last turn began. */
export interface TurnFiles {
  /** A turn begins: records the files in the background. Never throws. */
  begin(record: Ids & Pick<SessionRecord, "dir">): void;
  /** What happened while nothing watched is not known, so nothing is compared until the next turn. Never throws. */
  drop(record: Ids): void;
  /** When the last turn began, if {@link TurnFiles.compared} has its files. Waits for nothing. */
  recordedAt(record: Ids): Promise<number | null>;
  /** Runs a comparison with the files at the beginning of the last turn; with null if they were not recorded. */
  compared<T>(record: Ids, compare: (look: Look | null) => Promise<T>): Promise<T>;
  /** Records nothing more. Waits for at most two seconds; the next start removes what is then left. */
  close(): Promise<void>;
}

type Ids = Pick<SessionRecord, "sessionId" | "aliases">;

/** Recorded for all accounts. No account has this ID. */
const keyOf = (sessionId: string): LookKey => ({ sessionId, accountId: "the beginning of the last turn" });

const closeMs = 2_000;

/** @see TurnFiles */
export function createTurnFiles({
  looks,
  worktrees,
  clock,
  log,
}: {
  readonly looks: Pick<Looks, "begin" | "drop" | "compared" | "recordedAt">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
}): TurnFiles {
  const running = new Set<Promise<void>>();
  let closed = false;
  const inBackground = (work: () => Promise<void>): void => {
    if (closed) return;
    const run = work()
      .catch((error: unknown) => log.debug({ reason: messageOf(error) }, "a turn's files are not recorded"))
      .finally(() => running.delete(run));
    running.add(run);
  };
  async function dropAll(sessionIds: readonly string[]): Promise<void> {
    for (const sessionId of sessionIds) await looks.drop(keyOf(sessionId));
  }

  return {
    begin: ({ sessionId, aliases, dir }) =>
      inBackground(async () => {
        await dropAll(aliases);
        await looks.begin(keyOf(sessionId), async () => {
          if (closed) throw new Error("The gateway is stopping.");
          const worktree = await worktrees.ofSession(sessionId);
          // Without a caller, no other directory may be read: a repository whose files are elsewhere is not recorded.
          return { dir, worktree, visibleAmong: async () => new Set() };
        });
      }),
    drop: ({ sessionId, aliases }) => inBackground(() => dropAll([sessionId, ...aliases])),
    async close() {
      closed = true;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(closeMs, resolve);
        void Promise.all(running).then(() => {
          cancel();
          resolve();
        });
      });
    },
    async recordedAt({ sessionId, aliases }) {
      for (const id of [sessionId, ...aliases]) {
        const at = await looks.recordedAt(keyOf(id));
        if (at !== null) return at;
      }
      return null;
    },
    async compared({ sessionId, aliases }, compare) {
      // Until an agent reports its own ID, its session has another one.
      for (const id of [sessionId, ...aliases]) {
        const found = await looks.compared(keyOf(id), async (look) => look && { answer: await compare(look) });
        if (found !== null) return found.answer;
      }
      return compare(null);
    },
  };
}

/** Notices when a turn of one session begins: when its prompt is on its way, or when an agent begins without one. */
export function createTurnWatch(
  session: {
    readonly record: SessionRecord;
    readonly state: Pick<ActivityState, "turnRuns" | "turnsEnded">;
    readonly outbox: { readonly isSending: boolean };
  },
  { files, origin }: { readonly files: TurnFiles | undefined; readonly origin: "launched" | "found" },
): { look(): void; caughtUp(): void } {
  /** The number of turns that had ended when the files were recorded last; null before that. */
  let recorded: number | null = null;
  let live = origin === "launched";
  const isBusy = (): boolean => session.outbox.isSending || session.state.turnRuns;
  return {
    look() {
      if (files === undefined || !live || !isBusy() || recorded === session.state.turnsEnded) return;
      recorded = session.state.turnsEnded;
      files.begin(session.record);
    },
    caughtUp() {
      if (live) return;
      live = true;
      files?.drop(session.record);
      if (isBusy()) recorded = session.state.turnsEnded;
    },
  };
}
