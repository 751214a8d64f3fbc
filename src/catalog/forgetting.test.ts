import { appendFile, copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { zstdCompressSync } from "node:zlib";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { claudeFixture, codexFixture, openCatalogScene } from "../../test/support/catalog-scene.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { newUuid } from "../core/ids.ts";

describeOnBothStores("the catalog", (openStore) => {
  test("forgets a session's content, wherever its transcripts are or move, but not later content", async () => {
    const { database, indexer, rows, claudePath, codexPath, open } = await openCatalogScene(openStore);
    const [one, two, three] = [newUuid(), newUuid(), newUuid()];
    await copyFile(claudeFixture, claudePath(one));
    await copyFile(claudeFixture, claudePath(two));
    await copyFile(codexFixture, codexPath(three));
    await indexer.sweep();
    const before = new Map((await rows()).map((row) => [row.session_id, row]));
    await rm(claudePath(two));
    const at = Date.now();
    const sessions = [
      { agent: "claude-code", sessionId: one, at },
      { agent: "claude-code", sessionId: two, at },
      { agent: "codex", sessionId: three, at },
    ];
    await indexer.forget(sessions);
    const gone = { title: null, first_prompt: null, reader_state: null };
    const after = new Map((await rows()).map((row) => [row.session_id, row]));
    expect([...after.keys()].toSorted()).toEqual([one, three].toSorted());
    for (const [id, row] of after) {
      expect(row).toEqual({ ...before.get(id), ...gone, transcript_id: row.transcript_id });
      expect(row.turn_count).toBeGreaterThan(1);
    }
    expect(indexer.progress()).toMatchObject({ done: 2, total: 2 });
    const texts = () => sql<{ content: string }>`select content from text_parts`.execute(database.db);
    expect((await texts()).rows).toEqual([]);

    // Also true for a new indexer, and in an archive.
    const again = await open(sessions);
    await writeFile(`${codexPath(three)}.zst`, zstdCompressSync(await readFile(codexFixture)));
    await rm(codexPath(three));
    await again.indexer.rebuild();
    expect((await rows()).map(({ title, turn_count }) => [title, turn_count > 1])).toEqual([
      [null, true],
      [null, true],
    ]);
    expect((await texts()).rows).toEqual([]);

    const line = {
      type: "user",
      message: { role: "user", content: "What came later" },
      cwd: "/code/project",
      sessionId: one,
      uuid: newUuid(),
    };
    const written = [
      { ...line, timestamp: new Date(at).toISOString(), message: { role: "user", content: "What came just before" } },
      { type: "ai-title", aiTitle: "A title from before", sessionId: one },
      { ...line, timestamp: new Date(at + 1).toISOString() },
    ];
    await appendFile(claudePath(one), written.map((each) => `${JSON.stringify(each)}\n`).join(""));
    await again.indexer.look([claudePath(one)]);
    const [row] = (await rows()).filter(({ session_id }) => session_id === one);
    const turns = before.get(one)?.turn_count ?? 0;
    expect(row).toMatchObject({ title: "What came later", first_prompt: "What came later", turn_count: turns + 2 });
    expect((await texts()).rows).toEqual([{ content: `${turns + 1}\u001fWhat came later` }]);
  });
});
