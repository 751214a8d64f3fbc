import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect } from "vitest";
import type { AskInput, AskOutput, SessionSummary } from "../../src/wire/coding.ts";
import type { ListOutput } from "../../src/wire/session-lists.ts";
import { type Answer, killAndWait, type World } from "./gateway.ts";
import { type ServingGateway, serveWorld } from "./serving-gateway.ts";
import { agentsOf, hostsOf } from "./storm-processes.ts";

export const stormAgents = ["claude-code", "codex"] as const;
const killKinds = ["gateway", "host", "both", "agent"] as const;

/** What was asked, and each answer to it. */
interface StormPrompt {
  /** A word that no other prompt has. */
  readonly mark: string;
  readonly request: AskInput & { readonly idempotencyKey: string };
  readonly answers: Pick<AskOutput, "sessionId" | "delivered" | "deliveryState">[];
}

/** A gateway that is killed and started again, and callers that use it all the while. */
export interface Storm {
  readonly prompts: readonly StormPrompt[];
  /** Answers by status and code. */
  readonly codes: ReadonlyMap<string, number>;
  readonly kills: ReadonlyMap<string, number>;
  /** Asks with a new prompt until the gateway answers 200, or 404. */
  ask(request: Omit<AskInput, "idempotencyKey" | "prompt">, words?: readonly string[]): Promise<StormAnswer>;
  repeat(prompt: StormPrompt): Promise<AskOutput>;
  /** Calls until a gateway answers with anything other than 409 or 503. */
  call<T>(tool: string, input: unknown): Promise<Answer<T>>;
  sessions(): Promise<readonly SessionSummary[]>;
  gatewayPid(): Promise<number>;
  kill(kind: (typeof killKinds)[number], pick: number): Promise<void>;
}

interface StormAnswer {
  readonly prompt: StormPrompt;
  /** Null: the session cannot be resumed. */
  readonly asked: AskOutput | null;
  /** What to do instead. */
  readonly advice: string | null;
}

// A call is repeated this often before it counts as a dead end: longer than any start of a gateway or of an agent takes.
const callForMs = 180_000;
const retryMs = 150;

const kill = fc.record({
  // A dead terminal host takes all agents with it: if it died as often as they do, few sessions would come far.
  kind: fc.constantFrom(...killKinds, "gateway", "agent"),
  afterMs: fc.noBias(fc.integer({ min: 100, max: 1_500 })),
  pick: fc.noBias(fc.nat(1_000)),
});
const act = fc.record({
  act: fc.constantFrom("ask", "ask", "ask", "ask", "ask", "queue", "queue", "close", "new"),
  slowMs: fc.noBias(fc.integer({ min: 0, max: 2_500 })),
  waitMs: fc.constantFrom(undefined, 0, 2_000, 20_000),
  lines: fc.noBias(fc.integer({ min: 1, max: 3 })),
});

/** A caller's next action. */
export type StormAct = ReturnType<typeof planActs>[number];

export function planKills(count: number, seed: number) {
  return fc.sample(kill, { numRuns: count, seed });
}

// No caller reaches the end: an action takes at least half a second.
const plannedActs = 5_000;

export function planActs(seed: number) {
  return fc.sample(act, { numRuns: plannedActs, seed });
}

export async function startStorm(world: World, token: string): Promise<Storm> {
  const prompts: StormPrompt[] = [];
  const codes = new Map<string, number>();
  const kills = new Map<string, number>();
  let serving: Promise<ServingGateway> = serveWorld(world, token);
  await serving;

  async function call<T>(tool: string, input: unknown): Promise<Answer<T>> {
    const giveUpAt = performance.now() + callForMs;
    for (let last = "no answer"; performance.now() < giveUpAt; await sleep(retryMs)) {
      const { api } = await serving;
      try {
        const { status, body } = await api.post<T>(`/api/coding/${tool}`, input);
        last = status === 200 ? "200" : `${status} ${JSON.stringify(body)}`;
        const code = status === 200 ? "200" : `${status} ${codeIn(body)}`;
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (status !== 409 && status !== 503) return { status, body };
      } catch (error) {
        // The gateway was killed with the call under way.
        if (!(error instanceof TypeError)) throw error;
      }
      if (performance.now() + retryMs >= giveUpAt)
        throw new Error(`${tool} is a dead end: ${last}; ${JSON.stringify(input)}`);
    }
    throw new Error(`${tool} was never answered`);
  }

  async function send(prompt: StormPrompt): Promise<StormAnswer> {
    const { status, body } = await call<AskOutput & { readonly detail?: string }>("coding_ask", prompt.request);
    if (status === 404) return { prompt, asked: null, advice: body.detail ?? null };
    if (status !== 200) throw new Error(`coding_ask answered ${status}: ${JSON.stringify(body)}`);
    prompt.answers.push(body);
    return { prompt, asked: body, advice: null };
  }

  return {
    prompts,
    codes,
    kills,
    call,
    async ask(request, words = []) {
      const mark = `storm-${prompts.length}-end`;
      const prompt = {
        mark,
        request: { ...request, prompt: [...words, mark].join("\n"), idempotencyKey: mark },
        answers: [],
      };
      prompts.push(prompt);
      return send(prompt);
    },
    async repeat(prompt) {
      const { waitMs: _waitMs, ...request } = prompt.request;
      const { asked } = await send({ ...prompt, request });
      if (asked === null) throw new Error(`The session of ${prompt.mark} is gone`);
      return asked;
    },
    gatewayPid: async () => (await serving).server.pid,
    async sessions() {
      const found: SessionSummary[] = [];
      for (let more = true; more; ) {
        const { body } = await call<ListOutput>("coding_list_sessions", { limit: 200, offset: found.length });
        found.push(...body.sessions);
        more = body.hasMore;
      }
      return found;
    },
    async kill(kind, pick) {
      const { server } = await serving;
      kills.set(kind, (kills.get(kind) ?? 0) + 1);
      const restart = async (): Promise<void> => {
        serving = server.end("SIGKILL").then(() => serveWorld(world, token));
        await serving;
      };
      const endHosts = (): Promise<unknown> => Promise.all(hostsOf(world).map((pid) => killAndWait(pid)));
      if (kind === "agent") await killAndWait(await agentToKill(world, pick));
      else if (kind === "gateway") await restart();
      else if (kind === "host") await endHosts();
      else await (pick % 2 === 0 ? Promise.all([restart(), endHosts()]) : endHosts().then(restart));
    },
  };
}

/** One of the agents that run, as soon as there is one. */
async function agentToKill(world: World, pick: number): Promise<number> {
  await expect.poll(() => agentsOf(world).length, { timeout: 60_000 }).toBeGreaterThan(0);
  const agents = agentsOf(world);
  return agents[pick % agents.length] ?? agentToKill(world, pick);
}

function codeIn(body: unknown): string {
  return typeof body === "object" && body !== null && "code" in body ? String(body.code) : "without a code";
}
