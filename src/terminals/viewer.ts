import type { Caller } from "../wire/caller.ts";
import type { TerminalCloseCode, TerminalMode } from "../wire/terminal.ts";

/** A viewer's connection, as the face that holds its socket gives it. Sending never waits; what is not sent yet is counted. */
export interface ViewerLink {
  sendText(text: string | Uint8Array): void;
  sendBinary(data: Uint8Array): void;
  /** Bytes that were given to it and have not left this process. */
  unsentBytes(): number;
  close(code: TerminalCloseCode, reason: string): void;
}

/** What a viewer wants to see. */
export interface ViewRequest {
  readonly sessionId: string;
  /** Undefined: drive if the caller may, else observe. */
  readonly mode: TerminalMode | undefined;
  readonly size: { readonly cols: number; readonly rows: number } | undefined;
  /** `plain`: the seed's text frames. `v1`: the subprotocol of `wire/terminal`. */
  readonly protocol: "plain" | "v1";
  /** Where a viewer was that connects again by itself; without an offset it takes the screen. It starts no agent that has ended. */
  readonly continueAt: { readonly terminalId: string; readonly offset: number | undefined } | undefined;
  /** While this driver is there, permissions are asked in the terminal and not by way of the gateway. */
  readonly permissionsInTerminal: boolean;
}

/** One viewer, to be told what its connection receives. What comes before the terminal is ready is kept, within bounds. */
export interface Viewer {
  receive(data: Buffer, isBinary: boolean): void;
  /** Its connection sent all that it had been given. */
  drained(): void;
  /** Its connection is gone. Idempotent. */
  leave(): void;
}

/** Opens the live terminal of a session for as long as the viewer stays. An error closes the link. */
export type ViewTerminal = (request: ViewRequest, caller: Caller, link: ViewerLink) => Viewer;
