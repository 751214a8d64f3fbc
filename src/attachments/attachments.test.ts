import { existsSync } from "node:fs";
import { mkdir, readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { picture } from "../../test/support/pictures.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { createAttachments } from "./attachments.ts";

const dayMs = 24 * 3_600_000;
const me = { accountId: "me", owns: (addedBy: string | null): boolean => addedBy === "me app:a" };

async function* bodyOf(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

describeOnBothStores("attachments", (openStore) => {
  async function open() {
    const { db } = await openStore();
    await db.insertInto("accounts").values({ account_id: "me", name: "me", is_owner: 1, created_at: 0 }).execute();
    const session = {
      node_id: "n",
      agent: "a",
      dir: "/",
      permission_mode: "ask",
      created_at: 0,
      updated_at: 0,
    } as const;
    for (const session_id of ["s1", "s2"])
      await db
        .insertInto("sessions")
        .values({ ...session, session_id })
        .execute();
    const home = await makeTempFolder();
    let now = Date.now();
    const attachments = createAttachments({ db, home, clock: { ...systemClock, now: () => now } });
    const add = (name = "a.png", sessionIds: readonly string[] | null = null, bytes = picture(1)) =>
      attachments.add({ accountId: "me", addedBy: "me app:a", sessionIds, name, mediaType: null }, bodyOf(bytes));
    const claim = (promptId: string, sessionId: string, attachmentIds: readonly string[], user = me) =>
      db
        .transaction()
        .execute((trx) =>
          attachments.claim({ promptId, ...user, attachmentIds, sessionId, sessionIds: [sessionId] }, trx),
        );
    const files = async (): Promise<readonly string[]> =>
      existsSync(join(home, "attachments")) ? readdir(join(home, "attachments")) : [];
    return { db, home, attachments, add, claim, files, later: (ms: number) => (now += ms) };
  }

  test("a file is stored for its user only, and of a refused one nothing remains", async () => {
    const { add, attachments, claim, files } = await open();
    const { attachmentId } = await add("Bild 1.png");
    const [found] = await attachments.find([attachmentId], me);
    expect(found).toMatchObject({ name: "Bild 1.png", mediaType: "image/png", sizeBytes: picture(1).length });
    expect((await stat(found?.path ?? "")).mode & 0o777).toBe(0o600);
    expect(await errorCode(attachments.find([attachmentId], { ...me, accountId: "another" }))).toBe(
      "attachment_not_found",
    );
    const other = { ...me, owns: (addedBy: string | null): boolean => addedBy === "me app:b" };
    expect(await errorCode(attachments.find([attachmentId], other))).toBe("attachment_not_found");
    expect(await errorCode(claim("p1", "s1", [attachmentId], other))).toBe("attachment_not_found");
    expect(await errorCode(add("a.png", null, Buffer.from("<html>")))).toBe("attachment_type_refused");
    expect(await errorCode(add("../a.png"))).toBe("invalid_request");
    const megabyte = Buffer.alloc(1024 * 1024, "a");
    const large = { accountId: "me", addedBy: "me app:a", sessionIds: null, name: "a.txt", mediaType: null };
    const pieces = Array.from({ length: 21 }, () => megabyte);
    expect(await errorCode(attachments.add(large, bodyOf(...pieces)))).toBe("attachment_too_large");
    expect(await files()).toEqual([attachmentId]);
    await attachments.remove(attachmentId, "me");
    expect(await files()).toEqual([]);
  });

  test("of two sessions that take a file at once, one gets it", async () => {
    const { add, claim, attachments } = await open();
    const { attachmentId } = await add();
    const taken = await Promise.allSettled([claim("p1", "s1", [attachmentId]), claim("p2", "s2", [attachmentId])]);
    expect(taken.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const winner = taken[0]?.status === "fulfilled" ? "p1" : "p2";
    expect([...(await attachments.ofPrompts(["p1", "p2"])).keys()]).toEqual([winner]);
  });

  test("a refused prompt frees what it newly took, and nothing that another prompt uses", async () => {
    const { add, claim, attachments } = await open();
    const [one, two] = [await add(), await add("b.png")];
    await claim("p1", "s1", [one.attachmentId]);
    await claim("p2", "s1", [two.attachmentId, one.attachmentId]);
    const of = await attachments.ofPrompts(["p2"]);
    expect(of.get("p2")?.map(({ name }) => name)).toEqual(["b.png", "a.png"]);
    await attachments.release("p2");
    await claim("p3", "s2", [two.attachmentId]);
    expect(await errorCode(claim("p4", "s2", [one.attachmentId]))).toBe("attachment_not_found");
    await attachments.release("p1");
    await claim("p5", "s2", [one.attachmentId]);
  });

  test("unused files are swept after a day, used ones never, and a file is either swept or taken", async () => {
    const { add, claim, attachments, files, later, home } = await open();
    const [used, unused, raced] = [await add(), await add(), await add()];
    await claim("p1", "s1", [used.attachmentId]);
    const stray = join(home, "attachments", newUuid());
    await mkdir(stray);
    await utimes(stray, new Date(Date.now() - dayMs), new Date(Date.now() - dayMs));
    await attachments.sweep();
    expect((await files()).length).toBe(3);
    later(dayMs + 1);
    const [, taken] = await Promise.allSettled([attachments.sweep(), claim("p2", "s1", [raced.attachmentId])]);
    const left = new Set(await files());
    expect(left.has(used.attachmentId)).toBe(true);
    expect(left.has(unused.attachmentId)).toBe(false);
    expect(left.has(raced.attachmentId)).toBe(taken?.status === "fulfilled");
    expect(await attachments.forget(["s1"])).toBe(taken?.status === "fulfilled" ? 2 : 1);
    expect(await files()).toEqual([]);
  });

  test("a file is not swept while it arrives, however long that takes", async () => {
    const { attachments, files, later } = await open();
    const begun = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<Uint8Array>();
    async function* slowly(): AsyncGenerator<Uint8Array> {
      begun.resolve();
      yield await rest.promise;
    }
    const file = { accountId: "me", addedBy: "me app:a", sessionIds: null, name: "a.png", mediaType: null };
    const added = attachments.add(file, slowly());
    await begun.promise;
    later(dayMs);
    await attachments.sweep();
    expect((await files()).length).toBe(1);
    rest.resolve(picture(1));
    const { attachmentId } = await added;
    expect(await files()).toEqual([attachmentId]);
  });

  test("the files of a session are limited, also when its prompts come at once", async () => {
    const { db, add, claim } = await open();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push((await add()).attachmentId);
    // Nothing more can be uploaded while this much is unused.
    await db
      .updateTable("attachments")
      .set({ size_bytes: 40 * 1024 * 1024 })
      .execute();
    expect(await errorCode(add())).toBe("attachment_too_large");
    const taken = await Promise.allSettled(ids.map((id, index) => claim(`p${index}`, "s1", [id])));
    const isTaken = taken.filter(({ status }) => status === "fulfilled");
    expect(isTaken.length).toBe(2);
    expect(await errorCode(add("a.png", ["s1"], picture(2)))).toBe(null);
  });
});
