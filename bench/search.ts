import { createReadStream, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { builtInTemplates } from "../src/agents/templates.ts";
import { transcriptFormats } from "../src/agents/transcript-formats.ts";
import { createBatchStore } from "../src/catalog/batch-store.ts";
import { openCatalogDatabase } from "../src/catalog/catalog-database.ts";
import { createCatalogIndexer } from "../src/catalog/catalog-indexer.ts";
import { createTextIndex } from "../src/catalog/text-index.ts";
import { createTextCollector, type TextCollector, type TextIndex } from "../src/catalog/turn-collector.ts";
import { systemClock } from "../src/core/clock.ts";
import { silentLog } from "../src/core/log.ts";
import type { SearchInput, SearchOutput } from "../src/wire/session-lists.ts";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { makeCorpus } from "./corpus.ts";
import { positionals, quantile, sizeOf } from "./measure.ts";

/**
 * How long does a search in titles and in the full text take over 10,000 transcripts of 1 GB in all, cold and warm, and what does the
 * text cost when the catalog is built? Each figure is also given as a ratio to its limit, or to a bare loop of `JSON.parse` over the
 * same files in the same run.
 *
 * `node bench/search.ts [folder of a corpus made by bench/corpus.ts]`
 */

const limitMs = { title: 10, all: 50 } as const;
const rounds = sizeOf({ full: 20, small: 2 });
/** Common and rare words, phrases, prefixes and other scripts, and the beginnings of titles. */
const queries = [
  ...["fix", "fix the", "the", "f", "a the of", "login", '"the test"', "flaky test lo"],
  ...["決済", "修", "zqb", "nothing-like-this"],
];

const folder = makeTestFolder("bench");
try {
  await main(positionals()[0]);
} finally {
  rmSync(folder, { recursive: true });
}

async function main(given: string | undefined): Promise<void> {
  const corpus = given ?? join(folder, "corpus");
  if (given === undefined) {
    const files = sizeOf({ full: 10_000, small: 100 });
    const { files: made } = await makeCorpus({ dir: corpus, seed: 1, files, bytes: files * 100_000 });
    writeFileSync(join(corpus, "corpus.jsonl"), made.map((file) => `${JSON.stringify(file)}\n`).join(""));
  }
  const bareMs = await bareLoop(corpus);
  const withoutMs = await build(corpus, join(folder, "without.db"), false);
  const withMs = await build(corpus, join(folder, "catalog.db"), true);
  const megabytes = (name: string): string => (statSync(join(folder, name)).size / 1e6).toFixed(0);
  console.log(
    `CPU time of the catalog in one thread: bare loop ${bareMs.toFixed(0)} ms | without text ${withoutMs.toFixed(0)} ms, ratio ${(withoutMs / bareMs).toFixed(2)}` +
      `, ${megabytes("without.db")} MB | with text ${withMs.toFixed(0)} ms, ratio ${(withMs / bareMs).toFixed(2)}, ${megabytes("catalog.db")} MB`,
  );
  await searches(corpus);
}

async function bareLoop(corpus: string): Promise<number> {
  const began = process.cpuUsage();
  for (const { path } of filesOf(corpus)) {
    if (path.endsWith(".zst")) continue;
    for await (const line of createInterface({ input: createReadStream(path, { highWaterMark: 1024 * 1024 }) })) {
      try {
        JSON.parse(line);
      } catch {
        continue; // the corpus holds garbage
      }
    }
  }
  return cpuMs(began);
}

/** CPU time of one thread, less affected by other load than wall time. */
function cpuMs(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

function filesOf(corpus: string): readonly { readonly path: string; readonly title: string | null }[] {
  const list = join(corpus, "corpus.jsonl");
  if (!existsSync(list)) throw new Error(`${list} is missing: make the corpus with bench/corpus.ts`);
  return readFileSync(list, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

async function build(corpus: string, path: string, withText: boolean): Promise<number> {
  const began = process.cpuUsage();
  const database = await openCatalogDatabase({ url: null, path, storePath: "" }, silentLog);
  const none: TextIndex = { add: async () => {}, setHead: async () => {}, remove: async () => {} };
  const nothing: TextCollector = {
    ...createTextCollector(transcriptFormats.claude.readText),
    line: () => {},
    take: () => [],
  };
  const env = { CLAUDE_CONFIG_DIR: join(corpus, "claude"), CODEX_HOME: join(corpus, "codex") };
  const indexer = createCatalogIndexer({
    database,
    sources: builtInTemplates.flatMap((template) =>
      template.transcriptPlaces(env).map((place) => ({
        ...place,
        agent: template.name,
        format: template.transcriptFormat ?? "claude",
      })),
    ),
    store: createBatchStore({ database, createTextIndex: (tx) => (withText ? createTextIndex(tx, "sqlite") : none) }),
    forgotten: [],
    createCollector: withText ? createTextCollector : () => nothing,
    clock: systemClock,
    log: silentLog,
    onProgress: () => {},
    onFolder: () => {},
  });
  await indexer.sweep();
  await database.close();
  return cpuMs(began);
}

/** Through the HTTP interface of a gateway on this corpus, visibility, summaries and snippets included. */
async function searches(corpus: string): Promise<void> {
  const world = await createWorld({
    agents: false,
    env: { CLAUDE_CONFIG_DIR: join(corpus, "claude"), CODEX_HOME: join(corpus, "codex") },
  });
  const gateway = await startGateway(world);
  try {
    const search = async (input: SearchInput): Promise<SearchOutput> =>
      (await gateway.api.post<SearchOutput>("/api/coding/coding_search_sessions", input)).body;
    for (let at = 0; at < 600; at++) {
      if ((await search({ query: "x" })).indexing === null) break;
      await sleep(500);
    }
    const titles = filesOf(corpus).flatMap(({ title }) => (title === null ? [] : [title]));
    const starts = Array.from({ length: 12 }, (_, at) =>
      (titles[(at * 701 + 5) % titles.length] ?? "x").slice(0, 12 + at),
    );
    for (const where of ["title", "all"] as const) {
      const all: number[] = [];
      const cpus: number[] = [];
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      for (const query of [...queries, ...starts]) {
        const times: number[] = [];
        let found = 0;
        const cpu = process.cpuUsage();
        for (let round = 0; round < rounds; round++) {
          const began = performance.now();
          found = (await search({ query, in: where })).total;
          times.push(performance.now() - began);
        }
        const [cold = 0, ...warm] = times;
        all.push(...warm);
        const each = cpuMs(cpu) / rounds;
        cpus.push(each);
        console.log(
          `  ${where} ${JSON.stringify(query)}: ${found} found | cold ${cold.toFixed(1)} ms | p50 ${quantile(warm, 0.5).toFixed(1)} ms | p99 ${quantile(warm, 0.99).toFixed(1)} ms | CPU ${each.toFixed(1)} ms`,
        );
      }
      const p50 = quantile(all, 0.5);
      console.log(
        `${where}: p50 ${p50.toFixed(1)} ms, ${(p50 / limitMs[where]).toFixed(2)} of the limit | p99 ${quantile(all, 0.99).toFixed(1)} ms | CPU of a search, client included, p50 ${quantile(cpus, 0.5).toFixed(1)} ms, at most ${Math.max(...cpus).toFixed(1)} ms | event loop held up p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, at most ${(delay.max / 1e6).toFixed(1)} ms`,
      );
    }
  } finally {
    await gateway.close();
    await world.close();
  }
}
