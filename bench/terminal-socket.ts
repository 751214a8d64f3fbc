import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/core/clock.ts";
import { type Pty, startPty } from "../src/terminal-host/pty.ts";
import { createReadScheduler } from "../src/terminal-host/read-scheduler.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { median, quantile, sizeOf, small } from "./measure.ts";
import { type Rig, size, startRig, writeSample } from "./rig/gateway.ts";
import { startSocketsAlone } from "./rig/sockets-alone.ts";
import type { SocketViewer } from "./rig/viewer.ts";
import { startWetty, type Wetty } from "./rig/wetty.ts";

/** The same script in a bare pseudo-terminal of this process. */
interface BareTerminal {
  readonly pty: Pty;
  bytes(): number;
  next(): Promise<void>;
  readonly ended: Promise<number>;
}

export function startBare(script: string): BareTerminal {
  let bytes = 0;
  const waiting = new Set<() => void>();
  const ended = Promise.withResolvers<number>();
  const pty = startPty(
    { argv: ["/bin/sh", "-c", script], cwd: "/", env: { PATH: "/usr/bin:/bin", TERM: "xterm-256color" }, ...size },
    {
      clock: systemClock,
      turns: createReadScheduler(systemClock),
      onOutput(data) {
        bytes += data.byteLength;
        for (const resolve of waiting) resolve();
        waiting.clear();
      },
      onEnd: () => ended.resolve(performance.now()),
    },
  );
  return {
    pty,
    bytes: () => bytes,
    next: () => new Promise((resolve) => waiting.add(resolve)),
    ended: ended.promise,
  };
}

/**
 * A session's terminal over the gateway's WebSocket, raw log and screen model on, against a bare read of the same program in a
 * pseudo-terminal of this process, and against wetty where that can be installed: `cat` of 64 MB and of 3 MB, keystrokes and their
 * echo on an idle machine and next to a flood, and the first paint of a late viewer. Interleaved runs.
 */

const large = { bytes: sizeOf({ full: 64, small: 8 }) * 2 ** 20, runs: sizeOf({ full: 5, small: 1 }) };
const burst = { bytes: 3 * 2 ** 20, runs: sizeOf({ full: 15, small: 1 }) };
const keystrokes = sizeOf({ full: 1_000, small: 40 });
const attaches = sizeOf({ full: 40, small: 4 });
const folder = makeTestFolder("bench");
const largeFile = writeSample(folder, large.bytes);
const burstFile = writeSample(folder, burst.bytes);
const scripts = {
  large: `stty -echo; echo ready; read -r go; exec cat ${largeFile}`,
  burst: `stty -echo; echo ready; read -r go; exec cat ${burstFile}`,
  echo: "echo ready; exec cat",
  flood: `echo ready; read -r go; while :; do cat ${burstFile}; done`,
  history: `seq -f '%g \x1b[32mline\x1b[0m of a history with some words in it' 1100; echo ready; exec cat`,
};

function say(what: string, fits: boolean): void {
  process.stdout.write(`terminal-socket: ${fits ? "" : "MISSED: "}${what}\n`);
}

interface Run {
  readonly bytes: number;
  readonly mbPerS: number;
}

function runOf(bytes: number, ms: number): Run {
  return { bytes, mbPerS: bytes / ms / 1e3 };
}

async function bareRun(script: string): Promise<Run> {
  const bare = startBare(script);
  await bare.next();
  await sleep(100);
  const before = bare.bytes();
  const startedAt = performance.now();
  await bare.pty.write(Buffer.from("go\r"));
  const endedAt = await bare.ended;
  return runOf(bare.bytes() - before, endedAt - startedAt);
}

async function socketRun(rig: Rig, name: string): Promise<Run & { readonly screens: number }> {
  const sessionId = await rig.start(name);
  const viewer = await rig.view(sessionId);
  await sleep(200);
  const [before, screens] = [viewer.offset(), viewer.screens()];
  const startedAt = performance.now();
  viewer.type("go\r");
  const endedAt = await viewer.ended;
  const run = runOf(viewer.offset() - before, endedAt - startedAt);
  await rig.closeSession(sessionId);
  await sleep(sizeOf({ full: 1_500, small: 300 })); // the screen model catches up outside the measured time
  return { ...run, screens: viewer.screens() - screens };
}

/** @returns the rates, of which the first was only to warm up */
async function throughput(rig: Rig, wetty: Wetty | null, kind: "large" | "burst"): Promise<void> {
  const { bytes, runs } = kind === "large" ? large : burst;
  const limit = kind === "large" ? 0.7 : 0.8;
  const ratios: number[] = [];
  const peers: number[] = [];
  const rates: number[] = [];
  const bares: number[] = [];
  let lost = 0;
  let skipped = 0;
  let peerLost = 0;
  for (let run = 0; run <= runs; run += 1) {
    const bare = await bareRun(scripts[kind]);
    const socket = await socketRun(rig, kind);
    const peer = await wetty?.cat(kind === "large" ? largeFile : burstFile);
    if (run === 0) continue;
    lost += bare.bytes - socket.bytes;
    skipped += socket.screens;
    ratios.push(socket.mbPerS / bare.mbPerS);
    rates.push(socket.mbPerS);
    bares.push(bare.mbPerS);
    if (peer === undefined) continue;
    peerLost += bare.bytes - peer.bytes;
    peers.push(socket.mbPerS / (peer.bytes / peer.ms / 1e3));
  }
  const ratio = median(ratios);
  const mb = Math.round(bytes / 2 ** 20);
  say(
    `cat of ${mb} MB: ${ratio.toFixed(2)} of a bare read (at least ${limit}); ${median(rates).toFixed(0)} MB/s, bare ${median(bares).toFixed(0)} MB/s; ${lost} bytes lost, ${skipped} skips`,
    ratio >= limit && lost === 0,
  );
  if (peers.length > 0)
    say(`cat of ${mb} MB: ${median(peers).toFixed(2)} times wetty's rate, which lost ${peerLost} bytes`, true);
}

async function keystroke(write: () => unknown, next: () => Promise<void>): Promise<number> {
  const seen = next();
  const startedAt = performance.now();
  write();
  await seen;
  const us = (performance.now() - startedAt) * 1e3;
  await sleep(2);
  return us;
}

async function echo(rig: Rig): Promise<void> {
  const sessionId = await rig.start("echo");
  const viewer = await rig.view(sessionId);
  const bare = startBare(scripts.echo);
  await bare.next();
  const sockets = await startSocketsAlone();
  await sleep(300);
  const times: Record<"bare" | "sockets" | "socket", number[]> = { bare: [], sockets: [], socket: [] };
  for (let n = 0; n < keystrokes + 100; n += 1) {
    const key = n % 60 === 59 ? "\x15" : "k";
    const one = await keystroke(() => void bare.pty.write(Buffer.from(key)), bare.next);
    const alone = await keystroke(sockets.type, sockets.next);
    const other = await keystroke(() => viewer.type(key), viewer.next);
    if (n < 100 || key !== "k") continue;
    times.bare.push(one);
    times.sockets.push(alone);
    times.socket.push(other);
  }
  sockets.close();
  void bare.pty.write(Buffer.from("\x15\x04"));
  await rig.closeSession(sessionId);
  const added = (q: number): number => quantile(times.socket, q) - quantile(times.bare, q);
  say(
    `echo over a bare terminal: p50 +${added(0.5).toFixed(0)} µs (at most 250), p99 +${(added(0.99) / 1e3).toFixed(2)} ms (at most 3); p50 ${quantile(times.socket, 0.5).toFixed(0)} µs, bare ${quantile(times.bare, 0.5).toFixed(0)} µs`,
    added(0.5) <= 250 && added(0.99) <= 3_000,
  );
  // Sockets alone have no terminal behind them: the floor is what both cost without Postern.
  const ratios = [0.25, 0.5].map((q) => ({
    whole: quantile(times.socket, q) / quantile(times.sockets, q),
    floor: (quantile(times.sockets, q) + quantile(times.bare, q)) / quantile(times.sockets, q),
  }));
  say(
    `echo to the same way through sockets alone: p25 ${ratios[0]?.whole.toFixed(2)}, p50 ${ratios[1]?.whole.toFixed(2)} (at most 1.3); sockets and terminal without Postern: p25 ${ratios[0]?.floor.toFixed(2)}, p50 ${ratios[1]?.floor.toFixed(2)}; sockets alone p50 ${quantile(times.sockets, 0.5).toFixed(0)} µs`,
    (ratios[1]?.whole ?? Number.NaN) <= 1.3,
  );
}

async function paints(rig: Rig, sessionId: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < attaches; n += 1) {
    const viewer: SocketViewer = await rig.view(sessionId);
    times.push(viewer.firstPaintMs);
    await viewer.leave();
    await sleep(20);
  }
  return times;
}

async function duringFlood(rig: Rig): Promise<void> {
  const history = await rig.start("history");
  await sleep(500);
  const quiet = await paints(rig, history);
  await rig.closeSession(history);
  say(
    `first paint with 1,000 lines of scrollback: p50 ${median(quiet).toFixed(1)} ms (under 15), p99 ${quantile(quiet, 0.99).toFixed(1)} ms`,
    median(quiet) < 15,
  );
  const flood = await rig.start("flood");
  const other = await rig.start("echo");
  const viewer = await rig.view(other);
  await sleep(300);
  await rig.viewElsewhere(flood, "go\r");
  await sleep(500);
  const times: number[] = [];
  for (let n = 0; n < keystrokes / 2; n += 1) {
    const us = await keystroke(() => viewer.type(n % 60 === 59 ? "\x15" : "k"), viewer.next);
    if (n % 60 !== 59) times.push(us / 1e3);
  }
  say(
    `echo of a session next to one that floods: p50 ${median(times).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms (under 12)`,
    quantile(times, 0.99) < 12,
  );
  const flooded = await paints(rig, flood);
  say(
    `first paint of the session that floods: p50 ${median(flooded).toFixed(0)} ms (under 200), worst ${Math.max(...flooded).toFixed(0)} ms`,
    median(flooded) < 200,
  );
  for (const sessionId of [flood, other]) await rig.closeSession(sessionId);
}

const rig = await startRig(scripts);
// Its installation takes longer than all of it at the small sizes.
const wetty = small ? null : await startWetty((sentence) => process.stdout.write(`terminal-socket: ${sentence}\n`));
await echo(rig);
await duringFlood(rig);
await throughput(rig, wetty, "burst");
await throughput(rig, wetty, "large");
await wetty?.close();
await rig.close();
rmSync(folder, { recursive: true, force: true });
