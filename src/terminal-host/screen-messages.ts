import type { PaintedScreen } from "./screen-model.ts";

/** What the host tells the thread that keeps the screens. */
export type ToScreens =
  | {
      readonly type: "open";
      readonly terminalId: string;
      readonly cols: number;
      readonly rows: number;
      readonly dir: string;
      readonly segmentBytes: number;
      readonly fromOffset: number;
      /** The number of its size: see `size-history`. */
      readonly sizes: number;
      /** Queries in output before this were answered long ago. */
      readonly answersFrom: number;
    }
  /** The log now reaches to `offset`; answered by `reached` when the screen does too. `asks`: the program may wait for an answer. */
  | { readonly type: "output"; readonly terminalId: string; readonly offset: number; readonly asks: boolean }
  /** Output from `offset` on that the log could not take; what the log held before it is lost. */
  | { readonly type: "direct"; readonly terminalId: string; readonly offset: number; readonly data: Uint8Array }
  /** Takes effect after the output before `offset`. */
  | {
      readonly type: "resize";
      readonly terminalId: string;
      /** The number of this size. */
      readonly sizes: number;
      readonly offset: number;
      readonly cols: number;
      readonly rows: number;
    }
  /** The screen as it is at the next occasion, or not before `offset`. */
  | {
      readonly type: "paint";
      readonly terminalId: string;
      readonly requestId: number;
      readonly offset: number;
      /** Without what paints it. */
      readonly plain: boolean;
    }
  | { readonly type: "close"; readonly terminalId: string };

/** What the thread says. */
export type FromScreens =
  /** It has loaded. */
  | { readonly type: "ready" }
  | { readonly type: "reached"; readonly terminalId: string; readonly offset: number }
  /** The model failed on some output and began anew, empty. */
  | { readonly type: "failed"; readonly terminalId: string; readonly error: string }
  | { readonly type: "answer"; readonly terminalId: string; readonly data: string }
  | {
      readonly type: "painted";
      readonly requestId: number;
      readonly offset: number;
      /** The number of the size that the screen has. */
      readonly sizes: number;
      readonly screen: PaintedScreen;
    };
