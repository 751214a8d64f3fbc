import type { Clock } from "../core/clock.ts";
import { hasCode, isPosternError, messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { clampSize } from "../core/terminal-size.ts";
import { createMinorGc } from "../platform/minor-gc.ts";
import type { TerminalHostClient, TerminalSize, TerminalSnapshot } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import { type TerminalCloseCode, type TerminalMode, terminalCloseCodes } from "../wire/terminal.ts";
import { Attachment } from "./attachment.ts";
import { createFrameWriter } from "./output-chunk.ts";
import type { Viewer, ViewerLink, ViewRequest } from "./viewers.ts";

/** A live terminal. */
export interface FoundTerminal {
  readonly terminalId: string;
  /** Called for each viewer before it attaches; the returned function is called when that viewer has left. Null if the terminal is being ended. */
  readonly watch: (viewer: {
    readonly mode: TerminalMode;
    /** Whether the viewer is a driver that wants permission requests to appear in the terminal. */
    readonly permissionsInTerminal: boolean;
  }) => (() => void) | null;
}

/** The last screen of a terminal whose program ended. */
export interface EndedTerminal {
  readonly terminalId: string;
  readonly screen: Omit<TerminalSnapshot, "lines" | "title">;
  readonly exitCode: number;
  readonly signal: string | null;
}

/** @returns null when the session has no live terminal here, or none that the caller may see */
export type FindTerminal = (sessionId: string, caller: Caller) => FoundTerminal | null | Promise<FoundTerminal | null>;

/** What viewers of a session without a live terminal need. */
export interface EndedTerminals {
  /** Starts its program again. @throws PosternError when it cannot */
  resume(
    sessionId: string,
    caller: Caller,
    options: { readonly size: TerminalSize | undefined; readonly signal: AbortSignal },
  ): Promise<FoundTerminal>;
  /** @throws PosternError `session_not_found` | `session_busy` */
  remains(sessionId: string, caller: Caller, signal: AbortSignal): Promise<EndedTerminal>;
}

export interface TerminalViewsDeps {
  readonly host: TerminalHostClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Tried in order. */
  readonly sources: readonly FindTerminal[];
  readonly gone: EndedTerminals;
}

/** The viewers of all terminals. */
export interface TerminalViews {
  view(request: ViewRequest, caller: Caller, link: ViewerLink): Viewer;
  /** Disconnects all viewers; they may reconnect. */
  close(): void;
}

/** The maximum number of viewers, of one terminal and of all: far more than anyone has windows. */
const maxViewersOfOne = 64;
const maxViewers = 512;
/** The limit for input that arrives before the terminal is ready. */
const maxEarlyBytes = 1024 * 1024;

export function createTerminalViews(deps: TerminalViewsDeps): TerminalViews {
  const attachments = new Map<string, Attachment>();
  const open = new Set<{ close(code: TerminalCloseCode, reason: string): void }>();
  const memory = createMinorGc();
  let closed = false;

  function attachmentOf(terminalId: string): Attachment {
    const known = attachments.get(terminalId);
    if (known !== undefined) return known;
    const made = new Attachment({ ...deps, memory }, terminalId, () => attachments.delete(terminalId));
    attachments.set(terminalId, made);
    return made;
  }

  async function find(sessionId: string, caller: Caller): Promise<FoundTerminal | null> {
    for (const source of deps.sources) {
      const found = await source(sessionId, caller);
      if (found !== null) return found;
    }
    return null;
  }

  return {
    view(request, caller, link) {
      const early: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
      let earlyBytes = 0;
      let viewer: Viewer | null = null;
      let unwatch = (): void => undefined;
      const leaving = new AbortController();
      const me = {
        close(code: TerminalCloseCode, reason: string): void {
          link.close(code, reason);
          leave();
        },
      };

      function leave(): void {
        if (!open.delete(me)) return;
        leaving.abort(new PosternError("client_gone", "The viewer left."));
        early.length = 0;
        viewer?.leave();
        unwatch();
      }

      async function enter(): Promise<void> {
        const wanted = request.mode ?? (caller.scopes.has("coding:drive") ? "drive" : "observe");
        const size = request.size === undefined ? undefined : clampSize(request.size);
        const { sessionId } = request;
        let found = await find(sessionId, caller);
        const begins = wanted === "drive" && request.continueAt === undefined;
        if (found === null && begins && !leaving.signal.aborted) {
          found = await resume(sessionId, size);
        }
        if (leaving.signal.aborted) return;
        if (found === null) return showLastScreen(await deps.gone.remains(sessionId, caller, leaving.signal));
        // If the terminal is being ended, it is gone at the next check.
        if (!attach(found, wanted, size)) await enter();
      }

      async function resume(sessionId: string, size: TerminalSize | undefined): Promise<FoundTerminal | null> {
        try {
          return await deps.gone.resume(sessionId, caller, { size, signal: leaving.signal });
        } catch (error) {
          // Nothing to resume, or it exited immediately: its last screen has the reason.
          if (hasCode(error, "session_not_found") || hasCode(error, "agent_start_failed")) return null;
          throw error;
        }
      }

      function attach(found: FoundTerminal, mode: TerminalMode, size: TerminalSize | undefined): boolean {
        const attachment = attachmentOf(found.terminalId);
        if (attachment.size >= maxViewersOfOne) {
          me.close(
            terminalCloseCodes.tooMany,
            `This terminal already has ${maxViewersOfOne} viewers, the most allowed.`,
          );
          return true;
        }
        const left = found.watch({ mode, permissionsInTerminal: request.permissionsInTerminal && mode === "drive" });
        if (left === null) return false;
        unwatch = left;
        viewer = attachment.join({ ...request, size }, link, mode);
        for (const { data, isBinary } of early.splice(0)) viewer.receive(data, isBinary);
        return true;
      }

      function showLastScreen({ terminalId, screen, exitCode, signal }: EndedTerminal): void {
        if (leaving.signal.aborted) return;
        const writer = createFrameWriter(link, request.protocol);
        writer.hello({ terminalId, mode: "observe", size: screen, offset: screen.offset, continued: false });
        writer.screen(screen);
        writer.exit({ exitCode, signal });
        me.close(terminalCloseCodes.ended, "The program has ended.");
      }

      if (closed) {
        link.close(terminalCloseCodes.restarting, "The gateway is stopping.");
      } else if (open.size >= maxViewers) {
        link.close(terminalCloseCodes.tooMany, `${maxViewers} viewers are connected, the most allowed.`);
      } else {
        open.add(me);
        enter().catch((error: unknown) => {
          if (leaving.signal.aborted) return;
          const { code, reason } = refusalOf(error);
          if (code === terminalCloseCodes.restarting) {
            deps.log.warn({ reason: messageOf(error) }, "cannot attach a viewer");
          }
          me.close(code, reason);
        });
      }
      return {
        receive(data, isBinary) {
          if (viewer !== null) return viewer.receive(data, isBinary);
          if (!open.has(me)) return;
          earlyBytes += data.byteLength;
          if (earlyBytes > maxEarlyBytes) {
            return me.close(terminalCloseCodes.badRequest, "Too much input before the terminal was ready.");
          }
          early.push({ data, isBinary });
        },
        drained: () => viewer?.drained(),
        leave,
      };
    },

    close() {
      closed = true;
      for (const { close } of open) close(terminalCloseCodes.restarting, "The gateway is stopping.");
    },
  };
}

const refusals: Readonly<Record<string, TerminalCloseCode>> = {
  session_not_found: terminalCloseCodes.noSuchSession,
  session_busy: terminalCloseCodes.busyElsewhere,
  session_mismatch: terminalCloseCodes.busyElsewhere,
  dir_not_allowed: terminalCloseCodes.notAllowed,
  insufficient_scope: terminalCloseCodes.notAllowed,
  unauthenticated: terminalCloseCodes.notSignedIn,
  too_many_sessions: terminalCloseCodes.tooMany,
  gateway_stopping: terminalCloseCodes.restarting,
  terminal_host_unavailable: terminalCloseCodes.restarting,
  terminal_gone: terminalCloseCodes.restarting,
};

function refusalOf(error: unknown): { readonly code: TerminalCloseCode; readonly reason: string } {
  if (!isPosternError(error))
    return { code: terminalCloseCodes.restarting, reason: "Internal error. See the gateway's log." };
  return { code: refusals[error.code] ?? terminalCloseCodes.badRequest, reason: `${error.code}: ${error.message}` };
}
