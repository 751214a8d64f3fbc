import {
  appendFile,
  chmod,
  copyFile,
  mkdir,
  readFile,
  rename,
  rm,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { claudeFixture, codexFixture, geminiFixture, openCatalogScene } from "../../test/support/catalog-scene.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { silentLog } from "../core/log.ts";
import { createTranscripts } from "../transcripts/index.ts";

describeOnBothStores("the catalog", (openStore) => {
  test("keeps no title for a sub-agent's transcript, which is neither listed nor found", async () => {
    const { indexer, only, codexPath } = await openCatalogScene(openStore);
    const lines = (await readFile(codexFixture, "utf8")).split("\n");
    const meta = JSON.parse(lines[0] ?? "");
    lines[0] = JSON.stringify({ ...meta, payload: { ...meta.payload, thread_source: "subagent" } });
    await writeFile(codexPath(), lines.join("\n"));
    await indexer.sweep();
    expect(await only()).toMatchObject({ kind: "part", title: null, first_prompt: null });
  });

  test("matches the transcripts' reader, for both agents and archives", async () => {
    const { indexer, rows, claudePath, codexPath } = await openCatalogScene(openStore);
    const paths = [claudePath(), codexPath(), `${codexPath()}.zst`];
    await copyFile(claudeFixture, paths[0] ?? "");
    await copyFile(codexFixture, paths[1] ?? "");
    await writeFile(paths[2] ?? "", zstdCompressSync(await readFile(codexFixture)));
    await indexer.sweep();
    expect(indexer.progress()).toMatchObject({ done: 3, total: 3, unreadable: 0 });
    const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
    onTestFinished(() => transcripts.close());
    for (const row of await rows()) {
      const summary = await transcripts.summary(row.path, row.format);
      expect(paths).toContain(row.path);
      expect(row.path).toContain(row.session_id);
      expect(row).toMatchObject({
        listed: 1,
        complete: 1,
        dir: summary?.cwd,
        title: summary?.title,
        model: summary?.model,
        branch: summary?.branch,
        turn_count: summary?.turnCount,
        size_bytes: summary?.sizeBytes,
        skipped_lines: summary?.skippedLines,
        updated_at: Date.parse(summary?.updatedAt ?? ""),
        created_at: Date.parse(summary?.createdAt ?? ""),
      });
    }
  });

  test("reads only the new part of a file that grew, also after a restart, and never a partial line", async () => {
    const world = await openCatalogScene(openStore);
    const path = world.claudePath();
    const lines = (await readFile(claudeFixture, "utf8")).split("\n").slice(0, -1);
    const [first, second] = [lines.slice(0, 20).join("\n"), lines.slice(20).join("\n")];
    await writeFile(path, `${first}\n${second.slice(0, 30)}`);
    await world.indexer.sweep();
    const before = await world.only();
    expect(before.parsed_offset).toBe(Buffer.byteLength(first) + 1);
    await appendFile(path, `${second.slice(30)}\n`);
    const again = await world.open();
    await again.indexer.sweep();
    expect(again.indexer.progress().readBytes).toBe(Buffer.byteLength(second) + 1);
    const grown = await again.only();
    const whole = await openCatalogScene(openStore);
    await copyFile(claudeFixture, whole.claudePath());
    await whole.indexer.sweep();
    const { title, turn_count, updated_at, model, created_at } = await whole.only();
    expect(grown).toMatchObject({ title, turn_count, updated_at, model, created_at, complete: 1 });
    expect(grown.transcript_id).toBe(before.transcript_id);
  });

  test("does not reread unchanged files", async () => {
    const world = await openCatalogScene(openStore);
    for (const path of [world.claudePath(), world.claudePath()]) await copyFile(claudeFixture, path);
    await copyFile(codexFixture, world.codexPath());
    await world.indexer.sweep();
    const rows = await world.rows();
    const { indexer } = await world.open();
    await indexer.sweep();
    expect(indexer.progress()).toMatchObject({ done: 3, total: 3, readBytes: 0 });
    await indexer.look(rows.map(({ path }) => path));
    expect(indexer.progress()).toMatchObject({ done: 3, total: 3, readBytes: 0 });
    expect(await world.rows()).toEqual(rows);
  });

  test("rereads from the beginning a file that shrank, was replaced or overwritten in place", async () => {
    const { indexer, only, claudePath } = await openCatalogScene(openStore);
    const path = claudePath();
    const text = await readFile(claudeFixture, "utf8");
    await writeFile(path, text);
    await indexer.sweep();
    const whole = await only();
    await truncate(path, text.indexOf("\n", 4000) + 1);
    await indexer.look([path]);
    const shrunk = await only();
    expect(shrunk.turn_count).toBeLessThan(whole.turn_count);
    expect(shrunk).toMatchObject({ transcript_id: whole.transcript_id, complete: 1 });
    await writeFile(`${path}.new`, `${text.replaceAll("/code/project", "/code/other")}${text.split("\n")[0]}\n`);
    await rename(`${path}.new`, path);
    await indexer.look([path]);
    expect(await only()).toMatchObject({ dir: "/code/other", turn_count: whole.turn_count });
    const other = text.slice(text.indexOf("\n") + 1).replaceAll("/code/project", "/else/where");
    await writeFile(path, `${other}${other}`);
    await indexer.look([path]);
    expect(await only()).toMatchObject({ dir: "/else/where" });
  });

  test("forgets deleted files, also a whole folder", async () => {
    const { indexer, rows, claudePath, codexPath, day } = await openCatalogScene(openStore);
    const [one, two] = [claudePath(), claudePath()];
    await copyFile(claudeFixture, one);
    await copyFile(claudeFixture, two);
    await copyFile(codexFixture, codexPath());
    await indexer.sweep();
    await rm(one);
    await indexer.look([one]);
    expect((await rows()).map(({ path }) => path)).not.toContain(one);
    expect(indexer.progress()).toMatchObject({ done: 2, total: 2 });
    await rm(day, { recursive: true });
    await indexer.look([day]);
    expect((await rows()).map(({ path }) => path)).toEqual([two]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "does not forget files that cannot be checked (skipped as root, which can read everything)",
    async () => {
      const { indexer, rows, claudePath, project } = await openCatalogScene(openStore);
      const path = claudePath();
      await copyFile(claudeFixture, path);
      await indexer.sweep();
      await chmod(project, 0);
      await indexer.sweep();
      await chmod(project, 0o700);
      expect((await rows()).map((row) => row.path)).toEqual([path]);
    },
  );

  test("forgets deleted files whose id is only in their content", async () => {
    const { root, indexer, rows } = await openCatalogScene(openStore);
    const id = /"sessionId":"([^"]+)"/.exec(await readFile(geminiFixture, "utf8"))?.[1] ?? "";
    const path = join(root, ".gemini/tmp/project/chats", `session-2026-01-02T03-04-${id.slice(0, 8)}.jsonl`);
    await mkdir(dirname(path), { recursive: true });
    await copyFile(geminiFixture, path);
    await indexer.sweep();
    expect((await rows()).map((row) => row.session_id)).toEqual([id]);
    await rm(path);
    await indexer.look([path]);
    expect(await rows()).toEqual([]);
  });

  test("does not open an unchanged file for its id", async () => {
    const { root, indexer, rows } = await openCatalogScene(openStore);
    const ids = ["11112222-3333-4444-8555-666677778888", "11112222-3333-4444-8555-666677779999"];
    const path = join(root, ".gemini/tmp/project/chats/session-2026-01-02T03-04-11112222.jsonl");
    const toldOnce = async (id: string | undefined, modified: number) => {
      await writeFile(path, `${JSON.stringify({ sessionId: id, projectHash: "0" })}\n`);
      await utimes(path, modified, modified);
      await indexer.sweep();
      await indexer.look([dirname(path)]);
      return (await rows()).map((row) => row.session_id);
    };
    await mkdir(dirname(path), { recursive: true });
    expect(await toldOnce(ids[0], 1_000)).toEqual([ids[0]]);
    expect(await toldOnce(ids[1], 1_000)).toEqual([ids[0]]);
    expect(await toldOnce(ids[1], 2_000)).toEqual([ids[1]]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "counts unreadable files and retries them (skipped as root, which can read everything)",
    async () => {
      const { indexer, only, claudePath } = await openCatalogScene(openStore);
      const path = claudePath();
      await copyFile(claudeFixture, path);
      await chmod(path, 0);
      await indexer.sweep();
      expect(indexer.progress()).toMatchObject({ done: 1, total: 1, unreadable: 1 });
      expect(await only()).toMatchObject({ unreadable: 1, listed: 0 });
      await chmod(path, 0o600);
      await indexer.sweep();
      expect(indexer.progress()).toMatchObject({ unreadable: 0 });
      expect(await only()).toMatchObject({ unreadable: 0, listed: 1, dir: "/code/project" });
    },
  );

  test("survives garbage, giant and empty lines, and folders in place of files", async () => {
    const { indexer, rows, claudePath, codexPath } = await openCatalogScene(openStore);
    await writeFile(claudePath(), Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)));
    await writeFile(claudePath(), "");
    const giant = claudePath();
    await copyFile(claudeFixture, giant);
    await appendFile(giant, `${JSON.stringify({ type: "user", text: "x".repeat(33 * 1024 * 1024) })}\n\n`);
    await appendFile(giant, (await readFile(claudeFixture, "utf8")).replaceAll('"uuid"', '"other"'));
    await writeFile(`${codexPath()}.zst`, "this is no archive");
    await mkdir(claudePath());
    await indexer.sweep();
    const all = await rows();
    expect(all.filter(({ listed }) => listed === 1).map(({ path }) => path)).toEqual([giant]);
    expect(all).toHaveLength(4);
    expect(all.find(({ path }) => path === giant)).toMatchObject({ complete: 1, skipped_lines: 1, turn_count: 24 });
    expect(all.every(({ complete }) => complete === 1)).toBe(true);
  });

  test("lists no sub-agents, and of several files of one session only the one written last", async () => {
    const { indexer, rows, claudePath, codexPath, project, env } = await openCatalogScene(openStore);
    const id = newUuid();
    await copyFile(claudeFixture, claudePath(id));
    const copied = join(env.CLAUDE_CONFIG_DIR, "projects/-other", `${id}.jsonl`);
    await mkdir(dirname(copied));
    const later = (await readFile(claudeFixture, "utf8")).replaceAll("2026-11-", "2026-12-");
    await writeFile(copied, later);
    await copyFile(claudeFixture, join(project, "agent-0a1b2c.jsonl"));
    await mkdir(join(project, id, "subagents"), { recursive: true });
    await copyFile(claudeFixture, join(project, id, "subagents", `${newUuid()}.jsonl`));
    const rollout = await readFile(codexFixture, "utf8");
    await writeFile(
      codexPath(),
      rollout.replace('"thread_source":"user"', '"parent_thread_id":"x","thread_source":"subagent"'),
    );
    await indexer.sweep();
    const all = await rows();
    expect(all).toHaveLength(3);
    expect(all.filter(({ listed }) => listed === 1).map(({ path }) => path)).toEqual([copied]);
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(["part", "session", "session"]);
    await rm(copied);
    await indexer.look([copied]);
    expect((await rows()).filter(({ listed }) => listed === 1).map(({ path }) => path)).toEqual([claudePath(id)]);
  });

  test("is the same after being dropped and rebuilt", async () => {
    const { indexer, rows, claudePath, codexPath } = await openCatalogScene(openStore);
    const id = newUuid();
    for (const path of [claudePath(id), claudePath(), claudePath()]) await copyFile(claudeFixture, path);
    await copyFile(codexFixture, codexPath());
    await indexer.sweep();
    const grown = claudePath();
    await copyFile(claudeFixture, grown);
    await indexer.look([grown]);
    await appendFile(grown, await readFile(claudeFixture));
    await indexer.look([grown]);
    const content = async () => (await rows()).map(({ transcript_id: _id, ...row }) => row);
    const before = await content();
    expect(before).toHaveLength(5);
    await indexer.rebuild();
    expect(await content()).toEqual(before);
    expect(indexer.progress()).toMatchObject({ done: 5, total: 5 });
  });

  test("reports the folders in which transcripts can appear", async () => {
    const { indexer, folders, day, project, env } = await openCatalogScene(openStore);
    await indexer.sweep();
    expect(folders).toContain(project);
    expect(folders).toContain(day);
    expect(folders).toContain(join(env.CODEX_HOME, "sessions/2026"));
    const next = join(env.CODEX_HOME, "sessions/2026/01/03");
    await mkdir(next);
    await indexer.look([next]);
    expect(folders).toContain(next);
  });

  test("indexes the newest transcripts first", async () => {
    const { indexer, database, claudePath } = await openCatalogScene(openStore);
    const files = Array.from({ length: 60 }, (_, at) => ({ path: claudePath(), at }));
    for (const { path, at } of files) {
      await copyFile(claudeFixture, path);
      await utimes(path, 1_700_000_000 + at, 1_700_000_000 + at);
    }
    await indexer.sweep();
    const rows = await database.db.selectFrom("transcripts").select("path").orderBy("transcript_id").execute();
    const newest = files.toReversed().map(({ path }) => path);
    expect(rows.slice(0, 24).map(({ path }) => path)).toEqual(newest.slice(0, 24));
  });
});
