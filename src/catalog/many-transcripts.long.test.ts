import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { catalogPlaceOf } from "../../test/support/test-catalog.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { silentLog } from "../core/log.ts";
import { createCatalog } from "./catalog.ts";
import { createForgottenSessions } from "./forgotten-sessions.ts";
import { findSessions } from "./session-rows.ts";
import type { CatalogSource } from "./transcript-walk.ts";

const files = 100_000;
const perFolder = 200;

test("100,000 transcripts are indexed, found again after a restart, and listed", async () => {
  const root = await makeTempFolder();
  for (let at = 0; at < files; at += 1) {
    const folder = join(root, "projects", `-work-${Math.floor(at / perFolder)}`);
    if (at % perFolder === 0) mkdirSync(folder, { recursive: true });
    const id = newUuid();
    const message = { role: "user", content: `Task ${at}` };
    const line = { type: "user", message, cwd: `/code/${at % 50}`, sessionId: id, timestamp: new Date(at * 60_000) };
    writeFileSync(join(folder, `${id}.jsonl`), `${JSON.stringify(line)}\n`);
  }
  const store = await openSqliteTestStore();
  const sources = claudeCode
    .transcriptPlaces({ CLAUDE_CONFIG_DIR: root })
    .map((place): CatalogSource => ({ agent: "claude-code", format: "claude", ...place }));
  for (const expected of [files, files]) {
    const catalog = createCatalog({
      place: catalogPlaceOf(store),
      sources,
      forgotten: createForgottenSessions(store.db),
      clock: systemClock,
      log: silentLog,
    });
    onTestFinished(() => catalog.close());
    catalog.start();
    await expect.poll(() => catalog.indexing(), { timeout: 300_000, interval: 100 }).toBeNull();
    const filter = {
      agents: ["claude-code"],
      anyAgent: true,
      dirs: null,
      since: null,
      status: null,
      alive: { running: [], starting: [] },
      partial: false,
      idPrefix: null,
      noted: { archived: false, needing: [], pinned: null, label: null },
    };
    const reader = await catalog.database();
    const startedAt = performance.now();
    const { rows, total } = await findSessions(reader, filter, { limit: 20, offset: 0 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect({ rows: rows.length, total }).toEqual({ rows: 20, total: expected });
    await catalog.close();
  }
});
