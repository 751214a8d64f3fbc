import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { Transcripts } from "../transcripts/index.ts";
import type { Identity } from "./identity.ts";

/** What a {@link SessionSwitchDetector} works with. */
export interface SessionSwitchDetectorDeps {
  readonly template: Pick<AgentTemplate, "moves" | "findTranscript">;
  readonly pid: number;
  readonly env: Environment;
  readonly identity: Pick<Identity, "record" | "follow">;
  readonly transcripts: Pick<Transcripts, "watch">;
  /** Called when it is to be asked. */
  readonly onDue: () => void;
}

/** Notices that the process of a session has gone over to another one, for an agent without hooks that say so. */
export class SessionSwitchDetector {
  readonly #deps: SessionSwitchDetectorDeps;
  #unwatch: (() => void) | null = null;
  /** Something was typed, or what was typed has not shown yet. */
  #isDue = true;

  constructor(deps: SessionSwitchDetectorDeps) {
    this.#deps = deps;
  }

  get isDue(): boolean {
    return this.#unwatch !== null && this.#isDue;
  }

  /**
   * Lets the session's record follow its process. @param transcriptPath of the session that it was in @returns the transcript of the one
   * that it is in now; null when it stays, or when there is none yet
   */
  async follow(transcriptPath: string | null): Promise<string | null> {
    const { template, pid, env, identity } = this.#deps;
    if (template.moves === undefined || transcriptPath === null) return null;
    this.#unwatch ??= this.#watch(template.moves.watched(transcriptPath));
    if (!this.#isDue) return null;
    this.#isDue = false; // what is typed while we look is looked at again
    const moved = await template.moves.movedTo({ pid, transcriptPath }).catch((error: unknown) => {
      this.#isDue = true;
      throw error;
    });
    this.#isDue ||= moved === "soon";
    if (moved === null || moved === "soon" || moved.sessionId === identity.record.sessionId) return null;
    return (await identity.follow(moved.sessionId)) ? template.findTranscript(moved.sessionId, env) : null;
  }

  /** Once: a process stays in its project. */
  #watch(path: string): () => void {
    return this.#deps.transcripts.watch(path, () => {
      this.#isDue = true;
      this.#deps.onDue();
    });
  }

  close(): void {
    this.#unwatch?.();
  }
}
