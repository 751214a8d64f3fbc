import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { processRow } from "../../src/platform/process-table.ts";
import type { AskInput, SessionSummary } from "../../src/wire/coding.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { planActs, planKills, type Storm, type StormAct, startStorm, stormAgents } from "../support/kill-storm.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { agentsOf, orphansOf, sharedTranscripts } from "../support/storm-processes.ts";
import { marksInTranscripts } from "../support/storm-transcripts.ts";

/** 500 takes about 25 minutes. */
const killCount = Number(process.env["POSTERN_STORM_KILLS"] ?? 20);
const callersOfEach = Number(process.env["POSTERN_STORM_CALLERS"] ?? 3);
const seed = Number(process.env["POSTERN_STORM_SEED"] ?? Date.now() & 0x7fffffff);
const settled = { timeout: 180_000, interval: 500 };

test(`${killCount} kills of gateway, terminal host and agents lose nothing that was confirmed, seed ${seed}`, async () => {
  const world = await createWorld({ agents: true });
  const problems: string[] = [];
  try {
    const storm = await startStorm(world, await prepareStore(world));
    const over = new AbortController();
    const callers = stormAgents.flatMap((agent, kind) =>
      Array.from({ length: callersOfEach }, (_, index) =>
        useSessions({ storm, world, agent, acts: planActs(seed + kind * 1_000 + index) }, over.signal),
      ),
    );
    const ended = Promise.all(callers);
    try {
      await Promise.race([ended, killAll(storm, world, problems)]);
    } finally {
      over.abort();
    }
    await ended;
    report(storm);

    await expect.poll(async () => (await storm.sessions()).filter(isUnderWay).map(shown), settled).toEqual([]);
    const sessions = await storm.sessions();
    problems.push(...sessions.flatMap(untrueStatus));
    const running = sessions.filter(({ status }) => status === "running").map(({ pid }) => pid);
    expect(new Set(running)).toEqual(new Set(agentsOf(world)));
    await expect.poll(async () => orphansOf(world, await storm.gatewayPid()), { timeout: 20_000 }).toEqual([]);
    expect(sharedTranscripts(world)).toEqual([]);

    const left: Asking[] = [...sessions, ...stormAgents.map((agent) => ({ agent, sessionId: undefined }))];
    const askAll = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        problems.push(...(await problemsOfAsking(storm, world, next)));
    };
    await Promise.all([askAll(), askAll(), askAll()]);
    problems.push(...(await untrueDeliveries(storm, world)));
    expect(problems, `seed ${seed}`).toEqual([]);
    expect(storm.prompts.length).toBeGreaterThan(killCount / 2);
  } finally {
    await world.close();
  }
});

/** Goes through the plan of kills; two processes on a transcript are looked for between them. */
async function killAll(storm: Storm, world: World, problems: string[]): Promise<void> {
  let before: readonly string[] = [];
  for (const { kind, afterMs, pick } of planKills(killCount, seed)) {
    await sleep(afterMs);
    const shared = sharedTranscripts(world);
    // A process that was sent SIGKILL may be there for a moment.
    problems.push(...shared.filter((one) => before.includes(one)).map((one) => `two processes write ${one}`));
    before = shared;
    await storm.kill(kind, pick);
  }
}

interface CallerOptions {
  readonly storm: Storm;
  readonly world: World;
  readonly agent: string;
  readonly acts: readonly StormAct[];
}

/** A caller with a session of its own, which it also closes, resumes and leaves for another. */
async function useSessions({ storm, world, agent, acts }: CallerOptions, over: AbortSignal): Promise<void> {
  let sessionId: string | undefined;
  for (const { act, slowMs, waitMs, lines } of acts) {
    if (over.aborted) return;
    const words =
      slowMs < 500 ? [] : [`slow ${slowMs}`, ...Array.from({ length: lines }, (_, index) => `line ${index}`)];
    if (sessionId !== undefined && (act === "close" || act === "new")) {
      await storm.call("coding_close_session", { sessionId });
      if (act === "new") sessionId = undefined;
    }
    const request = { agent, dir: world.repository, sessionId, waitMs };
    const count = act === "queue" && sessionId !== undefined ? 3 : 1;
    const answers = await Promise.all(Array.from({ length: count }, () => storm.ask(request, words)));
    sessionId = answers.findLast(({ asked }) => asked !== null)?.asked?.sessionId;
  }
}

function isUnderWay({ status, activity, queuedPrompts }: SessionSummary): boolean {
  return status === "initializing" || (status === "running" && (activity !== "idle" || queuedPrompts > 0));
}

function shown({ sessionId, agent, status, activity, pid, queuedPrompts, screen }: SessionSummary): string {
  return JSON.stringify({ sessionId, agent, status, activity, pid, queuedPrompts, screen });
}

function untrueStatus(session: SessionSummary): readonly string[] {
  const { status, activity, pid } = session;
  const lives = pid !== null && processRow(pid)?.zombie === false;
  if (lives === (status === "running") && (lives || activity === null)) return [];
  return [`untrue: ${shown(session)}`];
}

/** A session to ask, or an agent for a new one. */
type Asking = Pick<AskInput, "agent" | "sessionId">;

/** Each session takes a prompt and answers it, and can be closed; or the answer says to start a new one. */
async function problemsOfAsking(storm: Storm, world: World, { agent, sessionId }: Asking): Promise<readonly string[]> {
  const { prompt, asked, advice } = await storm.ask({ agent, dir: world.repository, sessionId, waitMs: 60_000 });
  if (asked === null)
    return advice?.includes("Start a new session") === true ? [] : [`a dead end: ${agent} ${sessionId}, ${advice}`];
  const text = asked.turns?.at(-1)?.text ?? "";
  const problems = [];
  if (asked.delivered !== true) problems.push(`not delivered: ${prompt.mark} ${asked.deliveryState} ${shown(asked)}`);
  if (!text.startsWith(`ECHO ${prompt.mark}`)) problems.push(`not answered: ${prompt.mark} ${text} ${shown(asked)}`);
  if (asked.activity !== "idle") problems.push(`untrue after its turn: ${shown(asked)}`);
  await storm.call("coding_close_session", { sessionId: asked.sessionId });
  return problems;
}

/** Compares what was answered about each prompt with the transcripts. */
async function untrueDeliveries(storm: Storm, world: World): Promise<readonly string[]> {
  const states = new Map<string, number>();
  const problems: string[] = [];
  for (const prompt of storm.prompts) if (prompt.answers.length > 0) prompt.answers.push(await storm.repeat(prompt));
  const found = await marksInTranscripts(world);
  for (const { mark, answers, request } of storm.prompts) {
    const last = answers.at(-1);
    const files = found.get(mark) ?? [];
    const what = `${mark} of ${request.agent ?? "?"} in ${last?.sessionId ?? "no session"}: ${answers.map(({ deliveryState }) => deliveryState).join(", ")}; in ${JSON.stringify(files)}`;
    const state = `${last?.deliveryState ?? "refused"}, ${files.length} times`;
    states.set(state, (states.get(state) ?? 0) + 1);
    if (files.length > 1) problems.push(`twice: ${what}`);
    if (
      answers.some(({ delivered }) => delivered === true) &&
      !files.some((file) => file.includes(last?.sessionId ?? "?"))
    )
      problems.push(`delivered but not written: ${what}`);
    if ((last === undefined || last.delivered === false) && files.length > 0)
      problems.push(`lost but written: ${what}`);
    if (last?.deliveryState === "queued" || last?.deliveryState === "sent") problems.push(`without an end: ${what}`);
  }
  console.log("prompts by last state and how often they are in a transcript:", Object.fromEntries(states));
  return problems;
}

function report({ prompts, kills, codes }: Storm): void {
  console.log(`seed ${seed}, ${prompts.length} prompts`, Object.fromEntries(kills), Object.fromEntries(codes));
}
