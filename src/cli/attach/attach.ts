import type { Clock } from "../../core/clock.ts";
import { hasCode, PosternError } from "../../core/errors.ts";
import { type ExitFrame, type ServerFrame, type TerminalMode, terminalCloseCodes } from "../../wire/terminal.ts";
import type { Size } from "./clipped-view.ts";
import { createKeyReader, type DetachKey, type KeyReader } from "./keys.ts";
import { createSessionScreen, type SessionScreen } from "./session-screen.ts";
import { openTerminalLink, refusal, type TerminalLink } from "./terminal-link.ts";
import { onEveryWayOut, type UserTerminal } from "./user-terminal.ts";

export type AttachEnd = { readonly kind: "detached" } | { readonly kind: "ended"; readonly exit: ExitFrame };

export interface AttachDeps {
  readonly terminal: UserTerminal;
  readonly clock: Clock;
  readonly socketPath: string;
}

export interface AttachOptions {
  readonly sessionId: string;
  /** Undefined: drive if the caller can, otherwise observe. */
  readonly mode: TerminalMode | undefined;
  readonly detach: DetachKey;
}

/** How long to wait until the session's terminal adopts the window's new size, which it does unless another driver types. */
const graceMs = 1_000;
/** How long to wait for the window's size at the start, so that nothing is painted in a size that is about to change. */
const firstPaintMs = 400;
const firstPauseMs = 100;
const longestPauseMs = 2_000;
/** A gateway that is down for this long was stopped on purpose. */
const giveUpMs = 10 * 60_000;

/**
 * Shows a session's terminal in the user's terminal, across restarts of the gateway, until the user detaches or the agent ends.
 * @throws PosternError the gateway's code, or `gateway_not_running`
 */
export function attach(deps: AttachDeps, options: AttachOptions): Promise<AttachEnd> {
  return new Attachment(deps, options).run();
}

class Attachment {
  readonly #deps: AttachDeps;
  readonly #options: AttachOptions;
  readonly #screen: SessionScreen;
  readonly #keys: KeyReader;
  readonly #end = Promise.withResolvers<AttachEnd>();
  #link: TerminalLink | undefined;
  /** The previous connection, kept open until the current one has its size: closing it earlier would give the size to another driver. */
  #former: TerminalLink | undefined;
  #cancelFormer = (): void => undefined;
  /** The window size that the current connection has reported. */
  #reportedSize: Size = { cols: 0, rows: 0 };
  /** Whether the gateway has said hello on the current connection. */
  #connected = false;
  #mode: TerminalMode = "observe";
  #session: Size = { cols: 0, rows: 0 };
  #position: { readonly terminalId: string; readonly offset: number | undefined } | undefined;
  #lostAt: number | null = null;
  #pauseMs = firstPauseMs;
  #cancelRetry = (): void => undefined;
  #cancelGrace: (() => void) | undefined;
  #begun = false;

  constructor(deps: AttachDeps, options: AttachOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#screen = createSessionScreen(deps, (busy) => (busy ? this.#link?.pause() : this.#link?.resume()));
    this.#keys = createKeyReader(
      { clock: deps.clock, detach: options.detach },
      {
        onInput: (data) => {
          // Input is dropped while the gateway is unreachable. The previous connection stays open until the next one works.
          if (this.#lostAt === null && this.#mode === "drive") (this.#former ?? this.#link)?.send(data);
        },
        onDetach: () => this.#end.resolve({ kind: "detached" }),
      },
    );
  }

  async run(): Promise<AttachEnd> {
    const stop = onEveryWayOut(() => this.#restore());
    try {
      this.#connect();
      return await this.#end.promise;
    } finally {
      this.#cancelRetry();
      this.#cancelGrace?.();
      this.#keys.close();
      this.#closeFormer();
      this.#link?.close();
      this.#restore();
      stop();
    }
  }

  #connect(): void {
    const { clock, socketPath } = this.#deps;
    const { sessionId, mode } = this.#options;
    this.#connected = false;
    this.#reportedSize = this.#deps.terminal.size();
    const link = openTerminalLink(
      { socketPath, clock, sessionId, mode, size: this.#reportedSize, continueAt: this.#position },
      {
        onFrame: (frame) => {
          if (this.#link === link) this.#onFrame(frame);
        },
        onScreen: (offset, data) => {
          if (this.#link !== link) return;
          this.#screen.screen(data);
          this.#moveTo(offset);
        },
        onOutput: (offset, data) => {
          if (this.#link === link) this.#onOutput(offset, data);
        },
        onClose: (end) => {
          if (this.#link === link) this.#onClose(end);
        },
      },
    );
    this.#link = link;
  }

  /** Requests the whole screen again, to show it differently. */
  #reconnect(): void {
    this.#closeFormer();
    this.#former = this.#link;
    this.#requestScreen();
    this.#connect();
  }

  #closeFormer(): void {
    this.#cancelFormer();
    this.#former?.close();
    this.#former = undefined;
  }

  /** After a reconnect, this driver still determines the size, even if there are several drivers. */
  #takeOver(): void {
    const window = this.#deps.terminal.size();
    const isFit = this.#screen.fits(this.#session);
    const isChanged = window.cols !== this.#reportedSize.cols || window.rows !== this.#reportedSize.rows;
    if (this.#mode === "drive" && (isFit || isChanged)) this.#link?.resize(window);
    if (this.#mode === "drive" && isFit)
      this.#cancelFormer = this.#deps.clock.after(graceMs, () => this.#closeFormer());
    else this.#closeFormer();
  }

  #onFrame(frame: ServerFrame): void {
    if (frame.kind === "hello") {
      this.#connected = true;
      this.#mode = frame.mode;
      this.#lostAt = null;
      this.#pauseMs = firstPauseMs;
      this.#session = { cols: frame.cols, rows: frame.rows };
      this.#begin();
      if (frame.continued) this.#screen.hideNotice();
      else this.#screen.begin(this.#session, this.#mode === "drive" ? firstPaintMs : 0);
      this.#position = { terminalId: frame.terminalId, offset: frame.offset };
      this.#takeOver();
      this.#fit();
    } else if (frame.kind === "viewers") {
      if (frame.sizer) this.#closeFormer();
    } else if (frame.kind === "size") {
      this.#session = { cols: frame.cols, rows: frame.rows };
      this.#screen.resize(this.#session);
      this.#fit();
    } else if (frame.kind === "exit") {
      this.#end.resolve({ kind: "ended", exit: frame });
    }
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#deps.terminal.begin({ onInput: (data) => this.#keys.read(data), onResize: () => this.#onWindowResize() });
  }

  #onOutput(offset: number, data: Buffer): void {
    const known = this.#position?.offset ?? offset;
    if (offset + data.length <= known) return;
    this.#screen.output(offset < known ? data.subarray(known - offset) : data);
    this.#moveTo(offset + data.length);
  }

  #requestScreen(): void {
    if (this.#position !== undefined) this.#position = { ...this.#position, offset: undefined };
  }

  #moveTo(offset: number): void {
    if (this.#position !== undefined) this.#position = { ...this.#position, offset };
  }

  /** Shows the session in full or clipped, depending on its size. */
  #fit(): void {
    const fits = this.#screen.fits(this.#session);
    if (fits) this.#stopGrace();
    if (!this.#connected || this.#cancelGrace !== undefined) return;
    if (fits === this.#screen.isClipped) this.#reconnect();
  }

  #stopGrace(): void {
    this.#cancelGrace?.();
    this.#cancelGrace = undefined;
  }

  #onWindowResize(): void {
    this.#screen.windowChanged();
    if (this.#mode === "drive") {
      if (this.#connected) this.#link?.resize(this.#deps.terminal.size());
      this.#stopGrace();
      this.#cancelGrace = this.#deps.clock.after(graceMs, () => {
        this.#cancelGrace = undefined;
        this.#fit();
      });
    } else {
      this.#fit();
    }
  }

  #onClose({ code, reason, error }: { readonly code: number | undefined; reason: string; error: Error | null }): void {
    this.#connected = false;
    this.#closeFormer();
    const { ended, restarting } = terminalCloseCodes;
    if (code === undefined && !hasCode(error, "gateway_not_running") && !hasCode(error, "gateway_stopping")) {
      this.#end.reject(error ?? new PosternError("internal_error", "The gateway refused the connection."));
    } else if (code === ended) {
      this.#end.reject(
        new PosternError("internal_error", "The gateway closed the terminal connection without giving a reason."),
      );
    } else if (code === undefined || code === restarting || code < 1012) {
      this.#onLost(error);
    } else {
      this.#end.reject(refusal(code, reason));
    }
  }

  #onLost(error: Error | null): void {
    const { clock } = this.#deps;
    this.#lostAt ??= clock.now();
    if (!this.#begun || clock.now() - this.#lostAt >= giveUpMs) {
      this.#end.reject(error ?? new PosternError("gateway_not_running", "The gateway stopped and did not come back."));
      return;
    }
    if (this.#screen.coversScreen) this.#requestScreen();
    const { name } = this.#options.detach;
    this.#screen.showNotice(`Connection lost. The agent keeps running; reconnecting… ${name} detaches.`);
    this.#cancelRetry = clock.after(this.#pauseMs, () => this.#connect());
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  #restore(): void {
    if (!this.#begun) return;
    this.#screen.restore();
    this.#deps.terminal.end();
  }
}
