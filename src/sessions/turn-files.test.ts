import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { silentLog } from "../core/log.ts";
import type { LookKey } from "../worktrees/index.ts";
import { createTurnFiles } from "./turn-files.ts";

function setUp({ begin }: { readonly begin: (key: LookKey) => Promise<void> }) {
  const calls: string[] = [];
  const clock = createFakeClock();
  const looks = {
    begin: (key: LookKey) => {
      calls.push(`begin ${key.sessionId}`);
      return begin(key);
    },
    drop: async (key: LookKey) => void calls.push(`drop ${key.sessionId}`),
    recordedAt: async () => null,
    compared: async () => Promise.reject(new Error("Not expected.")),
  };
  const files = createTurnFiles({ looks, worktrees: { ofSession: async () => null }, clock, log: silentLog });
  return { files, calls, clock };
}

test("a stop does not wait for a slow repository, and nothing is recorded after it", async () => {
  const { files, calls, clock } = setUp({ begin: () => new Promise(() => undefined) });
  files.begin({ sessionId: "one", aliases: [], dir: "/" });
  await expect.poll(() => calls).toEqual(["begin one"]);
  const closing = files.close();
  await clock.advance(2_000);
  await closing;
  files.begin({ sessionId: "two", aliases: [], dir: "/" });
  await clock.advance(1);
  expect(calls).toEqual(["begin one"]);
});

test("a new turn and a drop also remove what an earlier id of the session recorded", async () => {
  const { files, calls } = setUp({ begin: async () => undefined });
  files.begin({ sessionId: "own", aliases: ["placeholder"], dir: "/" });
  await expect.poll(() => calls).toEqual(["drop placeholder", "begin own"]);
  files.drop({ sessionId: "own", aliases: ["placeholder"] });
  await expect.poll(() => calls.slice(2)).toEqual(["drop own", "drop placeholder"]);
  await files.close();
});
