import { z } from "zod";
import type { EventsState } from "../../src/client/index.ts";
import { sessionEventSchema } from "../../src/wire/events.ts";
import { type EventsListener, followEvents } from "./events.ts";

/** Messages between the pages of a browser. They share one event stream, because a browser opens only six connections per host. */
const noticeSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("event"), event: sessionEventSchema }),
  z.object({ kind: z.literal("reset") }),
  z.object({ kind: z.literal("state"), state: z.enum(["connecting", "live", "offline"]) }),
  /** Asks for a leader, which answers with a `state`. */
  z.object({ kind: z.literal("hello") }),
]);
type Notice = z.infer<typeof noticeSchema>;

const lockName = "postern.events";
/** A leader answers immediately, unless the browser has suspended it. */
const answerMs = 2_000;

/** Like {@link followEvents}, with one connection for all pages of the browser. */
export async function followSharedEvents(
  listener: EventsListener,
  signal: AbortSignal,
  follow: typeof followEvents = followEvents,
): Promise<void> {
  // Locks require https or localhost. Elsewhere each page has its own connection.
  if (!("locks" in navigator)) return follow(listener, signal);
  const channel = new BroadcastChannel(lockName);
  const send = (notice: Notice): void => channel.postMessage(notice);
  let leading = false;
  let state: EventsState = "connecting";
  let answered = false;
  let lastEventId: string | null = null;
  let steal = false;
  let inLine = new AbortController();

  const onMessage = ({ data }: MessageEvent<unknown>): void => {
    const parsed = noticeSchema.safeParse(data);
    if (!parsed.success) return;
    const notice = parsed.data;
    if (notice.kind === "hello") {
      if (leading) send({ kind: "state", state });
      return;
    }
    if (leading) return;
    answered = true;
    if (notice.kind === "event") {
      lastEventId = notice.event.id;
      listener.onEvent(notice.event);
    } else if (notice.kind === "reset") listener.onReset();
    else listener.onState(notice.state);
  };

  // A suspended page may hold the lock and send nothing: the page that becomes visible takes over.
  const onVisible = (): void => {
    if (document.visibilityState !== "visible" || leading) return;
    answered = false;
    send({ kind: "hello" });
    setTimeout(() => {
      if (answered || leading || signal.aborted) return;
      steal = true;
      inLine.abort();
    }, answerMs);
  };

  /** Follows events for all pages until another page takes over. */
  async function lead(taken: AbortSignal): Promise<void> {
    leading = true;
    let mayHaveMissed = answered && lastEventId === null;
    const leader: EventsListener = {
      onEvent(event) {
        lastEventId = event.id;
        listener.onEvent(event);
        send({ kind: "event", event });
      },
      onReset() {
        listener.onReset();
        send({ kind: "reset" });
      },
      onState(next) {
        state = next;
        listener.onState(next);
        send({ kind: "state", state });
        if (next !== "live" || !mayHaveMissed) return;
        mayHaveMissed = false;
        leader.onReset();
      },
    };
    await follow(leader, AbortSignal.any([signal, taken]), { after: lastEventId });
    leading = false;
  }

  channel.addEventListener("message", onMessage);
  document.addEventListener("visibilitychange", onVisible);
  onVisible();
  try {
    for (;;) {
      const taken = new AbortController();
      inLine = new AbortController();
      const options = steal ? { steal } : { signal: AbortSignal.any([signal, inLine.signal]) };
      steal = false;
      try {
        await navigator.locks.request(lockName, options, () => lead(taken.signal));
        return; // ended, or no longer allowed
      } catch {
        // Aborted, or another page took the lock: wait for it again.
        taken.abort();
        leading = false;
        if (signal.aborted) return;
      }
    }
  } finally {
    channel.close();
    document.removeEventListener("visibilitychange", onVisible);
  }
}
