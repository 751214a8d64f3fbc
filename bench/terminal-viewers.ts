/**
 * Many viewers of one session, and slow ones: what 32 viewers cost the gateway and the terminal host against one, and what a viewer on
 * a stalled line and one that never reads cost a fast one and the gateway's memory while 200 MB flow. Interleaved runs.
 */
import { readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { median, sizeOf, small } from "./measure.ts";
import { type Rig, startRig, writeSample } from "./rig/gateway.ts";
import type { SocketViewer } from "./rig/viewer.ts";

const many = 32;
/** Without the one that warms up. */
const runs = small ? 0 : sizeOf({ full: 3, small: 1 });
const paints = sizeOf({ full: 100, small: 20 });
const flowMb = sizeOf({ full: 200, small: 10 });
const folder = makeTestFolder("bench");
const file = writeSample(folder, flowMb * 2 ** 20);
const scripts = {
  // As a busy agent paints: 20 KB, twenty times a second.
  paints: `echo ready; read -r go; n=0; while [ $n -lt ${paints} ]; do n=$((n+1)); head -c 20000 ${file}; sleep 0.05; done`,
  flow: `stty -echo; echo ready; read -r go; exec cat ${file}`,
};

function say(what: string, fits: boolean): void {
  process.stdout.write(`terminal-viewers: ${fits ? "" : "MISSED: "}${what}\n`);
}

/** Seconds of processor time (Linux counts in hundredths). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) / 1024;
}

async function costOf(rig: Rig, viewers: number): Promise<number> {
  const sessionId = await rig.start("paints");
  const all = await Promise.all(Array.from({ length: viewers }, () => rig.view(sessionId)));
  await sleep(300);
  const cpu = (): number => cpuSeconds(rig.pid) + cpuSeconds(rig.hostPid);
  const before = cpu();
  all[0]?.type("go\r");
  await Promise.all(all.map((viewer) => viewer.ended));
  const cost = cpu() - before;
  await rig.closeSession(sessionId);
  return cost;
}

interface Flow {
  readonly seconds: number;
  readonly bytes: number;
  readonly grownMb: number;
  readonly stalledScreens: number;
}

async function flow(rig: Rig, withSlow: boolean): Promise<Flow> {
  const sessionId = await rig.start("flow");
  const fast = await rig.view(sessionId);
  const slow: SocketViewer[] = withSlow ? [await rig.view(sessionId), await rig.view(sessionId)] : [];
  const [stalled, deaf] = slow;
  deaf?.pause();
  await sleep(300);
  const begun = residentMb(rig.pid);
  const before = fast.offset();
  let peak = begun;
  const looking = setInterval(() => {
    peak = Math.max(peak, residentMb(rig.pid));
  }, 50);
  const startedAt = performance.now();
  fast.type("go\r");
  const stalling = setTimeout(() => stalled?.pause(), 200);
  const seconds = ((await fast.ended) - startedAt) / 1e3;
  clearInterval(looking);
  clearTimeout(stalling);
  stalled?.resume();
  await stalled?.ended;
  const bytes = fast.offset() - before;
  for (const viewer of slow) await viewer.leave().catch(() => undefined);
  await rig.closeSession(sessionId);
  await sleep(1_500); // the screen model catches up
  return { seconds, bytes, grownMb: peak - begun, stalledScreens: stalled?.screens() ?? 0 };
}

const rig = await startRig(scripts);
const costs: Record<"one" | "many", number[]> = { one: [], many: [] };
for (let run = 0; run <= runs; run += 1) {
  const one = await costOf(rig, 1);
  const all = await costOf(rig, many);
  if (run === 0 && !small) continue; // warm-up
  costs.one.push(one);
  costs.many.push(all);
}
const ratio = median(costs.many) / median(costs.one);
say(
  `${many} viewers: ${ratio.toFixed(2)} times the processor time of one (under 3); ${median(costs.many).toFixed(2)} s, one ${median(costs.one).toFixed(2)} s, for ${paints / 50} MB in ${paints / 20} s`,
  ratio < 3,
);

const alone: Flow[] = [];
const slowed: Flow[] = [];
for (let run = 0; run <= runs; run += 1) {
  const one = await flow(rig, false);
  const other = await flow(rig, true);
  if (run === 0 && !small) continue;
  alone.push(one);
  slowed.push(other);
}
const slower = median(slowed.map(({ seconds }, run) => seconds / (alone[run]?.seconds ?? Number.NaN)));
const grown = {
  slowed: Math.max(...slowed.map((one) => one.grownMb)),
  alone: Math.max(...alone.map((one) => one.grownMb)),
};
const lost = slowed.reduce((sum, { bytes }, run) => sum + (alone[run]?.bytes ?? 0) - bytes, 0);
say(
  `${flowMb} MB next to a stalled viewer and one that never reads: ${slower.toFixed(2)} times as long as alone (at most 1.1), ${lost} bytes fewer`,
  slower <= 1.1 && lost === 0,
);
say(
  `the gateway's memory grew by ${grown.slowed.toFixed(1)} MB (under 20; ${grown.alone.toFixed(1)} MB without them); the stalled viewer was shown the screen ${slowed.map((one) => one.stalledScreens).join(", ")} times`,
  grown.slowed < 20,
);
await rig.close();
rmSync(folder, { recursive: true, force: true });
