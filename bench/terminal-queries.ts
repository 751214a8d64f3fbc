/**
 * Time from a program's query (cursor, device attributes, colour) to the terminal's answer, as the program itself measures it: on a quiet
 * host, next to a terminal that floods, and for the first query of the first program of a host. Programs give up after 100 ms. Each figure
 * is printed with that of a bare pseudo-terminal in this process under the same load, which answers without parsing.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { newUuid } from "../src/core/ids.ts";
import { silentLog } from "../src/core/log.ts";
import { connectTerminalHost } from "../src/terminal-host/client.ts";
import { startPty } from "../src/terminal-host/pty.ts";
import { createReadScheduler } from "../src/terminal-host/read-scheduler.ts";
import type { TerminalHostClient } from "../src/terminal-host/terminal-info.ts";
import { quantile, sizeOf } from "./measure.ts";

const QUERIES = sizeOf({ full: 600, small: 20, position: 0 });
const HOSTS = sizeOf({ full: 5, small: 1 });
const TARGET_MS = 10;
const kinds = ["cursor position", "device attributes", "colour"];
const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));

/** Asks `count` times each, blocking, and leaves the milliseconds of every answer in a file, in the order in which it asked. */
const asker = String.raw`
  const { readSync, writeFileSync, writeSync } = require("node:fs");
  const [count, path] = process.argv.slice(1);
  const queries = [["\x1b[6n", "R"], ["\x1b[c", "c"], ["\x1b]11;?\x1b\\", "\\"]];
  const chunk = Buffer.alloc(256);
  const took = [];
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let n = 0; n < count * queries.length; n++) {
    const [query, end] = queries[n % queries.length];
    writeSync(1, "x".repeat(n % 7));
    const startedAt = performance.now();
    writeSync(1, query);
    for (let got = ""; !got.endsWith(end); ) got += chunk.latin1Slice(0, readSync(0, chunk));
    took.push(performance.now() - startedAt);
    Atomics.wait(pause, 0, 0, n % 5);
  }
  writeFileSync(path, JSON.stringify(took));`;

function connect(name: string): ReturnType<typeof connectTerminalHost> {
  return connectTerminalHost({
    socketPath: join(folder, `${name}.sock`),
    stateDir: join(folder, name),
    log: silentLog,
    clock: systemClock,
    idleExitMs: 500,
  });
}

function argvOf(count: number, path: string): readonly [string, ...string[]] {
  return ["/bin/sh", "-c", `stty raw -echo; exec "$0" -e '${asker}' ${count} ${path}`, process.execPath];
}

const env = { PATH: process.env["PATH"] ?? "", TERM: "xterm" };
const size = { cols: 120, rows: 40 };

/** A file that the asker has written, with an answer to each of its queries. */
function readTimes(path: string, count: number): readonly number[] {
  const took: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Array.isArray(took) || took.length !== count * kinds.length) throw new Error("Some queries were not answered.");
  return took.map(Number);
}

async function askHost(client: TerminalHostClient, count: number): Promise<readonly number[]> {
  const path = join(folder, newUuid());
  const terminalId = newUuid();
  await client.spawn({ terminalId, leaseKey: terminalId, argv: argvOf(count, path), cwd: "/", env, ...size });
  const stream = await client.attach(terminalId);
  await stream.exit;
  await client.forget(terminalId);
  return readTimes(path, count);
}

function askBare(count: number): Promise<readonly number[]> {
  const path = join(folder, newUuid());
  const answers = new Map([
    ["n", "\x1b[1;1R"],
    ["c", "\x1b[?1;2c"],
    ["\\", "\x1b]11;rgb:0/0/0\x1b\\"],
  ]);
  return new Promise((resolve) => {
    const pty = startPty(
      { argv: argvOf(count, path), cwd: "/", env, ...size },
      {
        clock: systemClock,
        turns: createReadScheduler(systemClock),
        onOutput: (data) => void pty.write(Buffer.from(answers.get(data.toString("latin1").slice(-1)) ?? "")),
        onEnd: () => resolve(readTimes(path, count)),
      },
    );
  });
}

function show(took: readonly number[]): string {
  return `p50 ${quantile(took, 0.5).toFixed(1)} ms, p99 ${quantile(took, 0.99).toFixed(1)} ms, at most ${Math.max(...took).toFixed(1)} ms`;
}

function report(what: string, host: readonly number[], bare: readonly number[]): void {
  const word = quantile(host, 0.99) < TARGET_MS ? "" : "MISSED: ";
  process.stdout.write(
    `terminal-queries: ${word}${what}: ${show(host)} (p99 under ${TARGET_MS} ms); bare ${show(bare)}\n`,
  );
}

const firsts: { readonly host: number; readonly bare: number }[] = [];
for (let n = 0; n < HOSTS; n++) {
  const fresh = await connect(`fresh-${n}`);
  firsts.push({ host: (await askHost(fresh, 1))[0] ?? Number.NaN, bare: (await askBare(1))[0] ?? Number.NaN });
  await fresh.close();
}
report(
  `first query of ${HOSTS} new hosts`,
  firsts.map(({ host }) => host),
  firsts.map(({ bare }) => bare),
);

const client = await connect("host");
async function measure(where: string): Promise<void> {
  await askHost(client, 20); // warm-up
  const host = await askHost(client, QUERIES);
  const bare = await askBare(QUERIES);
  for (const [index, kind] of kinds.entries()) {
    const ofKind = (_: number, n: number): boolean => n % kinds.length === index;
    report(`${kind}, ${where}`, host.filter(ofKind), bare.filter(ofKind));
  }
}
await measure("on a quiet host");
const flood = newUuid();
const argv = ["/bin/sh", "-c", "exec yes 'compiled src/module/index.ts in 911 ms'"] as const;
await client.spawn({ terminalId: flood, leaseKey: flood, argv, cwd: "/", env, ...size });
await measure("next to a flood");
const viewer = await client.attach(flood);
const reading = (async () => {
  for await (const _ of viewer.output);
})();
await measure("next to a flood that is viewed");
await client.end(flood, { graceMs: 1_000 });
await reading;
await client.forget(flood);
await client.close();
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
