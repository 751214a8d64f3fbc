import type { Clock } from "../../core/clock.ts";
import { hasCode, PosternError } from "../../core/errors.ts";
import { createTerminalFilter } from "../../core/terminal-filter.ts";
import { type ExitFrame, type ServerFrame, type TerminalMode, terminalCloseCodes } from "../../wire/terminal.ts";
import { type ClippedView, createClippedView, type Size } from "./clipped-view.ts";
import { createKeyReader, type DetachKey, type KeyReader } from "./keys.ts";
import { createScreenState } from "./screen-state.ts";
import { openTerminalLink, refusal, type TerminalLink } from "./terminal-link.ts";
import type { UserTerminal } from "./user-terminal.ts";
import { onEveryWayOut } from "./ways-out.ts";

/** How it ended. */
export type AttachEnd = { readonly kind: "detached" } | { readonly kind: "ended"; readonly exit: ExitFrame };

/** What {@link attach} needs. */
export interface AttachDeps {
  readonly terminal: UserTerminal;
  readonly clock: Clock;
  readonly socketPath: string;
}

/** What to attach to. */
export interface AttachOptions {
  readonly sessionId: string;
  /** Undefined: drive if that is allowed. */
  readonly mode: TerminalMode | undefined;
  readonly detach: DetachKey;
}

/** The window tells its new size; the session's terminal takes it, unless another driver types. */
const graceMs = 1_000;
/** The same at the start: nothing is painted in the wrong size that may be the right one in a moment. */
const firstPaintMs = 400;
const firstPauseMs = 100;
const longestPauseMs = 2_000;
/** A gateway that is gone for so long was stopped by somebody. */
const giveUpMs = 10 * 60_000;
/** What may wait for the view of another size before the gateway is told to wait. */
const maxUnreadBytes = 1024 * 1024;

/**
 * Shows a session's terminal in the user's own until the user detaches or the agent ends, through restarts of the gateway.
 * @throws PosternError the gateway's code, or `gateway_not_running`
 */
export function attach(deps: AttachDeps, options: AttachOptions): Promise<AttachEnd> {
  return new Attachment(deps, options).run();
}

class Attachment {
  readonly #deps: AttachDeps;
  readonly #options: AttachOptions;
  readonly #filter = createTerminalFilter();
  readonly #state = createScreenState();
  readonly #keys: KeyReader;
  readonly #end = Promise.withResolvers<AttachEnd>();
  #link: TerminalLink | undefined;
  /** Whether the gateway has said hello on the present connection. */
  #connected = false;
  #mode: TerminalMode = "observe";
  #session: Size = { cols: 0, rows: 0 };
  #position: { readonly terminalId: string; readonly offset: number } | undefined;
  /** Of a session whose size differs; undefined: its output is written as it comes. */
  #view: ClippedView | undefined;
  #unreadBytes = 0;
  /** Whether what stood in the user's terminal has been moved out of the way. */
  #cleared = false;
  #notice = false;
  #lostAt: number | null = null;
  #pauseMs = firstPauseMs;
  #cancelRetry = (): void => undefined;
  #cancelGrace: (() => void) | undefined;
  #begun = false;
  #restored = false;

  constructor(deps: AttachDeps, options: AttachOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#keys = createKeyReader(
      { clock: deps.clock, detach: options.detach },
      {
        onInput: (data) => {
          if (this.#connected && this.#mode === "drive") this.#link?.send(data);
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
      this.#link?.close();
      this.#view?.close();
      this.#restore();
      stop();
    }
  }

  #connect(): void {
    const { clock, socketPath } = this.#deps;
    const { sessionId, mode } = this.#options;
    this.#connected = false;
    this.#link = openTerminalLink(
      { socketPath, clock, sessionId, mode, size: this.#deps.terminal.size(), continueAt: this.#position },
      {
        onFrame: (frame) => this.#onFrame(frame),
        onScreen: (offset, data) => {
          this.#onScreen(data);
          this.#moveTo(offset);
        },
        onOutput: (offset, data) => this.#onOutput(offset, data),
        onClose: (end) => this.#onClose(end),
      },
    );
  }

  /** Takes the whole screen anew, to show it in another way. */
  #connectAnew(): void {
    this.#link?.close();
    this.#position = undefined;
    this.#connect();
  }

  #onFrame(frame: ServerFrame): void {
    if (frame.kind === "hello") {
      this.#connected = true;
      this.#mode = frame.mode;
      this.#lostAt = null;
      this.#pauseMs = firstPauseMs;
      this.#session = { cols: frame.cols, rows: frame.rows };
      this.#begin();
      if (frame.continued) this.#hideNotice();
      else this.#startOver();
      this.#position = { terminalId: frame.terminalId, offset: frame.offset };
    } else if (frame.kind === "size") {
      this.#session = { cols: frame.cols, rows: frame.rows };
      this.#view?.resize(this.#session);
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

  /** A screen comes. */
  #startOver(): void {
    this.#filter.reset();
    this.#view?.close();
    this.#view = undefined;
    this.#unreadBytes = 0;
    if (this.#fits()) return;
    const { clock, terminal } = this.#deps;
    this.#view = createClippedView(
      { clock, window: () => terminal.size(), paint: (text) => this.#show(text) },
      { size: this.#session, firstPaintMs: this.#mode === "drive" ? firstPaintMs : 0 },
    );
  }

  #onScreen(data: Buffer): void {
    this.#filter.reset();
    const text = this.#filter.write(data);
    if (this.#view !== undefined) {
      this.#hideNotice();
      this.#write(`\x1bc${text}`);
      return;
    }
    // The user's own lines go up, above the session's.
    const { rows } = this.#deps.terminal.size();
    this.#show(`${this.#state.reset()}${this.#cleared ? "" : `\x1b[999;1H${"\n".repeat(rows)}`}\x1b[H\x1b[J`);
    this.#cleared = true;
    this.#notice = false;
    this.#write(text);
  }

  #onOutput(offset: number, data: Buffer): void {
    const known = this.#position?.offset ?? offset;
    if (offset + data.length <= known) return;
    this.#write(this.#filter.write(offset < known ? data.subarray(known - offset) : data));
    this.#moveTo(offset + data.length);
  }

  #moveTo(offset: number): void {
    if (this.#position !== undefined) this.#position = { ...this.#position, offset };
  }

  #write(text: string): void {
    const view = this.#view;
    if (view === undefined) return this.#show(text);
    this.#unreadBytes += text.length;
    if (this.#unreadBytes > maxUnreadBytes) this.#link?.pause();
    view.write(text, () => {
      if (this.#view !== view) return;
      this.#unreadBytes -= text.length;
      if (this.#unreadBytes <= maxUnreadBytes) this.#link?.resume();
    });
  }

  #show(text: string): void {
    if (text === "" || this.#restored) return;
    this.#state.note(text);
    this.#deps.terminal.write(text);
  }

  #fits(): boolean {
    const { cols, rows } = this.#deps.terminal.size();
    return cols === this.#session.cols && rows === this.#session.rows;
  }

  /** Shows the session in the way that its size asks for. */
  #fit(): void {
    const fits = this.#fits();
    if (fits) this.#stopGrace();
    if (!this.#connected || this.#cancelGrace !== undefined) return;
    if (fits === (this.#view !== undefined)) this.#connectAnew();
  }

  #stopGrace(): void {
    this.#cancelGrace?.();
    this.#cancelGrace = undefined;
  }

  #onWindowResize(): void {
    this.#view?.windowChanged();
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
    const { ended, restarting } = terminalCloseCodes;
    if (code === undefined && !hasCode(error, "gateway_not_running") && !hasCode(error, "gateway_stopping")) {
      this.#end.reject(error ?? new PosternError("internal_error", "The gateway refused the connection."));
    } else if (code === ended) {
      this.#end.reject(
        new PosternError("internal_error", "The gateway closed the terminal's connection without a word."),
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
      this.#end.reject(
        error ?? new PosternError("gateway_not_running", "The gateway went away and did not come back."),
      );
      return;
    }
    this.#showNotice();
    this.#cancelRetry = clock.after(this.#pauseMs, () => this.#connect());
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  /** Says so on a screen of its own, under which the session's stays; where that is taken, the session's comes anew. */
  #showNotice(): void {
    if (this.#notice) return;
    if (this.#state.alternate) this.#position = undefined;
    this.#notice = true;
    this.#view?.close();
    this.#view = undefined;
    const words = `The gateway went away. The agent lives on; this goes on when the gateway is back. ${this.#options.detach.name} leaves.`;
    this.#show(`${this.#state.alternate ? "" : "\x1b[?1049h"}\x1b[m\x1b[H\x1b[J${words}\r\n`);
  }

  #hideNotice(): void {
    if (!this.#notice) return;
    this.#notice = false;
    this.#show("\x1b[?1049l");
  }

  #restore(): void {
    if (this.#restored || !this.#begun) return;
    const end = this.#cleared ? "\x1b[999;1H\r\n" : "";
    this.#show(`${this.#state.reset()}${end}`);
    this.#restored = true;
    this.#deps.terminal.end();
  }
}
