import { expect, onTestFinished, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { catalogPlaceOf, openTestCatalog } from "../../test/support/test-catalog.ts";
import { createBatchStore } from "./batch-store.ts";
import { createThreadedStore } from "./store-thread.ts";
import { createTextIndex } from "./text-index.ts";
import { type Checkpoint, rowOf } from "./transcript-scan.ts";

function checkpoint(transcriptId: number, text = "some words"): Checkpoint {
  const sessionId = `session-${transcriptId}`;
  const file = { path: `/t/${sessionId}.jsonl`, agent: "codex", format: "codex", sessionId } as const;
  const state = { fileKey: "1:1", sizeBytes: 10, modifiedAt: 1 };
  const row = { ...rowOf(file, { transcriptId, state }), dir: "/work", title: `title ${transcriptId}` };
  return { row, texts: [{ turnIndex: 0, role: "user", text }], from: "new" };
}

describeOnBothStores("a catalog that a thread writes", (openStore) => {
  async function open() {
    const store = await openStore();
    const place = catalogPlaceOf(store);
    const database = await openTestCatalog(place);
    const direct = createBatchStore({
      database,
      createTextIndex: (tx) => createTextIndex(tx, database.dialect),
    });
    const written: number[] = [];
    const put = (batch: readonly Checkpoint[]): Promise<void> => {
      written.push(batch.length);
      return direct.put(batch);
    };
    const threaded = createThreadedStore(place, { ...direct, put });
    onTestFinished(() => threaded.close());
    const count = async (): Promise<number> =>
      (await database.db.selectFrom("transcripts").select("transcript_id").where("listed", "=", 1).execute()).length;
    return { threaded, written, count };
  }

  test("stores large and small batches in order", async () => {
    const { threaded, written, count } = await open();
    await threaded.put([checkpoint(1)]);
    await threaded.put(Array.from({ length: 100 }, (_, at) => checkpoint(at + 2)));
    await threaded.put([checkpoint(102, "long ".repeat(50_000))]);
    await threaded.put([{ ...checkpoint(1), from: "again" }]);
    expect(written, "only small ones are written here").toEqual([1, 1]);
    expect(await count()).toBe(102);
    await threaded.remove(["/t/session-1.jsonl", "/t/session-102.jsonl"]);
    expect(await count()).toBe(100);
  });

  test("reports a batch that cannot be written, and writes the next one", async () => {
    const { threaded, count } = await open();
    const batch = Array.from({ length: 30 }, (_, at) => checkpoint(at + 1));
    const twice = { ...checkpoint(1), row: { ...checkpoint(1).row, path: "/t/other.jsonl" } };
    await expect(threaded.put([...batch, twice])).rejects.toThrow(/unique/i);
    expect(await count()).toBe(0);
    await threaded.put(batch);
    expect(await count()).toBe(30);
  });
});
