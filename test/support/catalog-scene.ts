import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { claudeCode } from "../../src/agents/claude-code/claude-code.ts";
import { codex } from "../../src/agents/codex/codex.ts";
import { geminiCli } from "../../src/agents/gemini-cli/gemini-cli.ts";
import { openCode } from "../../src/agents/opencode/opencode.ts";
import { createBatchStore } from "../../src/catalog/batch-store.ts";
import { type CatalogIndexer, createCatalogIndexer } from "../../src/catalog/catalog-indexer.ts";
import type { ForgottenSession } from "../../src/catalog/forgotten-sessions.ts";
import { createTextIndex } from "../../src/catalog/text-index.ts";
import type { CatalogSource } from "../../src/catalog/transcript-walk.ts";
import { createTextCollector } from "../../src/catalog/turn-collector.ts";
import { systemClock } from "../../src/core/clock.ts";
import { newUuid } from "../../src/core/ids.ts";
import { silentLog } from "../../src/core/log.ts";
import type { OpenTestStore } from "./database.ts";
import { makeTempFolder } from "./temp-folder.ts";
import { catalogPlaceOf, openTestCatalog } from "./test-catalog.ts";

const fixtures = join(import.meta.dirname, "../../src/transcripts/fixtures");

/** Transcripts of real sessions, for each agent that writes one in a file. */
export const claudeFixture = join(fixtures, "claude-2.1.329-tools.jsonl");
export const codexFixture = join(fixtures, "codex-0.169.0-classic.jsonl");
export const geminiFixture = join(fixtures, "gemini-0.61.0-tools.jsonl");

/** The folders of the agents, empty, and a catalog of them. */
export async function openCatalogScene(openStore: OpenTestStore) {
  const root = await makeTempFolder();
  const env = {
    CLAUDE_CONFIG_DIR: join(root, "claude"),
    CODEX_HOME: join(root, "codex"),
    GEMINI_CLI_HOME: root,
    XDG_DATA_HOME: root,
  };
  const store = await openStore();
  const place = catalogPlaceOf(store);
  const sources = [claudeCode, codex, geminiCli, openCode].flatMap(
    ({ name, transcriptFormat, transcriptPlaces }): CatalogSource[] =>
      transcriptPlaces(env).map((one) => ({ agent: name, format: transcriptFormat ?? "claude", ...one })),
  );
  const day = join(env.CODEX_HOME, "sessions/2026/01/02");
  const project = join(env.CLAUDE_CONFIG_DIR, "projects/-code-project");
  await mkdir(day, { recursive: true });
  await mkdir(project, { recursive: true });

  async function open(forgotten: readonly ForgottenSession[] = []) {
    const database = await openTestCatalog(place);
    const folders = new Set<string>();
    const indexer: CatalogIndexer = createCatalogIndexer({
      database,
      sources,
      createCollector: createTextCollector,
      forgotten,
      store: createBatchStore({ database, createTextIndex: (tx) => createTextIndex(tx, database.dialect) }),
      clock: systemClock,
      log: silentLog,
      onProgress: () => undefined,
      onFolder: (path) => void folders.add(path),
    });
    const rows = () => database.db.selectFrom("transcripts").selectAll().orderBy("path").execute();
    const only = async () => {
      const [row, ...others] = await rows();
      expect(others).toEqual([]);
      if (row === undefined) throw new Error("There is no row.");
      return row;
    };
    return { database, indexer, folders, rows, only };
  }

  const claudePath = (id = newUuid()): string => join(project, `${id}.jsonl`);
  const codexPath = (id = newUuid()): string => join(day, `rollout-2026-01-02T03-04-05-${id}.jsonl`);
  return { root, env, day, project, claudePath, codexPath, open, ...(await open()) };
}
