import { type EventsState, PosternClientError } from "../../src/client/index.ts";
import { type SessionEvent, sessionEventSchema } from "../../src/wire/events.ts";
import { reading } from "./client.ts";

export interface EventsListener {
  readonly onEvent: (event: SessionEvent) => void;
  /** Events were lost: read everything again. */
  readonly onReset: () => void;
  readonly onState: (state: EventsState) => void;
}

/** Follows `GET /api/coding/events` until `signal` aborts, and resumes after the last event when it reconnects. `after`: where to start. */
export async function followEvents(
  { onEvent, onReset, onState }: EventsListener,
  signal: AbortSignal,
  { after }: { readonly after?: string | null } = {},
): Promise<void> {
  try {
    for await (const event of reading.events({ after, signal, onState, pause: waitToRetry })) {
      if (event.kind === "reset") onReset();
      // A newer gateway may send other kinds.
      const parsed = sessionEventSchema.safeParse(event);
      if (parsed.success) onEvent(parsed.data);
    }
  } catch (error) {
    // Not signed in or not allowed: trying again would not help.
    if (!(error instanceof PosternClientError)) throw error;
  }
}

/** Waits until the network returns or the page becomes visible, at most this long. */
function waitToRetry(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      document.removeEventListener("visibilitychange", onVisible);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const onVisible = (): void => {
      if (document.visibilityState === "visible") end();
    };
    const timer = setTimeout(end, delayMs);
    window.addEventListener("online", end);
    document.addEventListener("visibilitychange", onVisible);
    signal.addEventListener("abort", end);
  });
}
