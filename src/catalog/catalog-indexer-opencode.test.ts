import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { openCatalogScene } from "../../test/support/catalog-scene.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { createOpenCodeDatabase, recordedEvents, recordedSession } from "../../test/support/opencode-database.ts";

describeOnBothStores("the catalog", (openStore) => {
  test("of OpenCode's database indexes each session, continues where it stopped, skips sub-agents, and forgets", async () => {
    const { root, database, indexer, rows, open } = await openCatalogScene(openStore);
    await mkdir(join(root, "opencode"));
    const sessions = createOpenCodeDatabase(join(root, "opencode"));
    onTestFinished(() => sessions.close());
    sessions.append(recordedSession, recordedEvents.slice(0, 60));
    const [created] = recordedEvents.filter(({ type }) => type === "session.created.1");
    if (created === undefined) throw new Error("There is no beginning.");
    const info = { id: "ses_sub", parentID: recordedSession };
    sessions.append("ses_sub", [{ ...created, data: { info } }]);
    await indexer.sweep();
    const path = join(sessions.path, recordedSession);
    const listed = async () => (await rows()).filter(({ kind }) => kind === "session");
    expect(await rows()).toHaveLength(2);
    expect(await listed()).toMatchObject([
      { path, session_id: recordedSession, agent: "opencode", turn_count: 7, dir: "/code/project", listed: 1 },
    ]);

    const journal = `${sessions.path}-wal`;
    const before = indexer.progress().readBytes;
    await indexer.look([journal]);
    expect(indexer.progress().readBytes).toBe(before);
    sessions.append(recordedSession, recordedEvents.slice(60));
    await indexer.look([journal]);
    expect(await listed()).toMatchObject([{ turn_count: 14, title: "ECHO hello there #12998c01", skipped_lines: 0 }]);
    expect(indexer.progress().readBytes - before).toBe((recordedEvents.length - 60) * 4_096);
    const texts = async () =>
      (await sql<{ content: string }>`select content from text_parts`.execute(database.db)).rows;
    expect(JSON.stringify(await texts())).toContain("#5cec7504");
    const whole = await listed();
    await (await open()).indexer.rebuild();
    expect(await listed()).toEqual(whole.map((row) => ({ ...row, transcript_id: expect.any(Number) })));

    await indexer.forget([{ agent: "opencode", sessionId: recordedSession, at: Date.now() + 60_000 }]);
    expect(await listed()).toMatchObject([{ turn_count: 14, title: null, first_prompt: null, reader_state: null }]);
    expect(await texts()).toEqual([]);
    sessions.remove(recordedSession);
    await indexer.look([path]);
    expect(await listed()).toEqual([]);
  });
});
