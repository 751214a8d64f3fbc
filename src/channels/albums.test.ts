import { expect, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import { createAlbums } from "./albums.ts";
import type { Incoming } from "./channel.ts";

function part(updateId: number, { text = "" } = {}) {
  const incoming: Incoming = {
    ...{ userId: "1", userName: "me", chatId: "1", isPrivate: true, messageId: `m${updateId}` },
    albumId: "a",
    content: { kind: "text", text, replyTo: null, files: [{ fileId: `f${updateId}`, name: "a.jpg", sizeBytes: 1 }] },
  };
  const update = { updateId, chatId: "1", messageId: `m${updateId}`, body: "", request: null, attempts: 0 };
  return { update, incoming };
}

/** Sleeps end when the test says so. */
function scene() {
  const sleeps: (() => void)[] = [];
  let now = 0;
  const clock = {
    ...systemClock,
    now: () => now,
    sleep: (ms: number) =>
      new Promise<void>((resolve) =>
        sleeps.push(() => {
          now += ms;
          resolve();
        }),
      ),
  };
  const albums = createAlbums({ clock });
  const note = (parts: readonly ReturnType<typeof part>[]) =>
    parts.forEach(({ update, incoming }) => albums.note(update, incoming));
  const whole = ({ update, incoming }: ReturnType<typeof part>) =>
    albums.whole(update, incoming, new AbortController().signal);
  /** Ends the next sleep. */
  async function wake(): Promise<void> {
    await expect.poll(() => sleeps.length).toBeGreaterThan(0);
    sleeps.shift()?.();
  }
  return { note, whole, wake };
}

test("the messages of an album become its first one, also those that arrive while it waits", async () => {
  const { note, whole, wake } = scene();
  const [one, two, three] = [part(1), part(2, { text: "look" }), part(3)] as const;
  note([one, two]);
  const asked = whole(one);
  note([three]);
  await wake();
  await wake();
  expect(await asked).toMatchObject({
    incoming: {
      messageId: "m1",
      content: { text: "look", files: [{ fileId: "f1" }, { fileId: "f2" }, { fileId: "f3" }] },
    },
    otherIds: [2, 3],
  });
  expect(await whole(two)).toBeNull();
  expect(await whole(three)).toBeNull();
  const late = part(4);
  note([late]);
  const alone = whole(late);
  await wake();
  expect(await alone).toMatchObject({ otherIds: [], incoming: { content: { files: [{ fileId: "f4" }] } } });
});

test("an album that is full waits for nothing, and what follows is another message", async () => {
  const { note, whole } = scene();
  const parts = Array.from({ length: 11 }, (_, at) => part(at + 1));
  note(parts);
  expect((await whole(parts[0] ?? part(0)))?.otherIds).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("an album whose messages never end is sent after a while", async () => {
  const { note, whole, wake } = scene();
  note([part(1)]);
  const asked = whole(part(1));
  for (let at = 2; at < 9; at += 1) {
    note([part(at)]);
    await wake();
  }
  expect((await asked)?.otherIds).toEqual([2, 3, 4, 5, 6, 7, 8]);
});

test("other messages wait for nothing, and albums of two people or chats stay apart", async () => {
  const { note, whole, wake } = scene();
  const { update, incoming } = part(1);
  const { albumId: _none, ...alone } = incoming;
  note([{ update, incoming: alone }]);
  expect(await whole({ update, incoming: alone })).toEqual({ incoming: alone, otherIds: [] });
  const mine = part(2);
  const theirs = { ...part(3), incoming: { ...part(3).incoming, userId: "2" } };
  note([mine, theirs]);
  const both = [whole(mine), whole(theirs)];
  await wake();
  await wake();
  expect((await Promise.all(both)).map((one) => one?.otherIds)).toEqual([[], []]);
});
