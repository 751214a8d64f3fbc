import type { CDPSession, Page } from "playwright-core";
import { z } from "zod";
import { readEvents } from "./event-reader.ts";

/** Collects in the page the ids of all events that its browser receives: the pages of a browser pass them on in this channel. */
const collect = `
  window.posternTestEvents = [];
  window.posternTestResets = 0;
  new BroadcastChannel("postern.events").addEventListener("message", ({ data }) => {
    if (data.kind === "event") window.posternTestEvents.push(data.event.id);
    if (data.kind === "reset") window.posternTestResets += 1;
  });
`;

const drainedSchema = z.object({ ids: z.array(z.string()), resets: z.int() });

/** What one page received. */
export interface PageEvents {
  /** In the order of their arrival. */
  readonly ids: readonly string[];
  readonly resets: number;
  /** Takes what has arrived out of the page, so that it keeps nothing. */
  drain(): Promise<void>;
}

/** Before the page is opened. */
export async function recordPageEvents(page: Page): Promise<PageEvents> {
  await page.addInitScript(collect);
  const ids: string[] = [];
  let resets = 0;
  return {
    ids,
    get resets() {
      return resets;
    },
    async drain() {
      const taken = await page.evaluate(
        "({ ids: window.posternTestEvents.splice(0), resets: window.posternTestResets })",
      );
      const drained = drainedSchema.parse(taken);
      ids.push(...drained.ids);
      resets = drained.resets;
    },
  };
}

/** The ids of all events after `anchor` that the gateway has in its log, up to and with `last`. */
export async function loggedIds(
  url: string,
  { token, anchor, last }: { readonly token: string; readonly anchor: string; readonly last: string },
): Promise<readonly string[]> {
  const reader = await readEvents(url, { token, lastEventId: anchor });
  const deadline = AbortSignal.timeout(60_000);
  // Another event may follow it at once.
  const ids = (): string[] => reader.events.map(({ id }) => id);
  while (!ids().includes(last)) {
    if (deadline.aborted) throw new Error(`The log has no event ${last}.`);
    await new Promise((look) => setTimeout(look, 50));
  }
  reader.close();
  return ids().slice(0, ids().indexOf(last) + 1);
}

/** What is in use of a page's memory after two garbage collections. */
export async function usedMemory(
  devtools: CDPSession,
): Promise<{ readonly heapMiB: number; readonly domNodes: number; readonly listeners: number }> {
  await devtools.send("HeapProfiler.enable");
  for (let nth = 0; nth < 2; nth += 1) await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners } = await devtools.send("Memory.getDOMCounters");
  return { heapMiB: Math.round((usedSize / 1024 / 1024) * 10) / 10, domNodes: nodes, listeners: jsEventListeners };
}
