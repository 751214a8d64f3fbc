import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { someAddress } from "../../test/support/oauth-client.ts";

/** An authorization server with one client, authorized repeatedly. */
export interface FlowTarget {
  readonly name: string;
  /** Of the server's process. */
  readonly pid: number;
  readonly issuer: string;
  readonly clientId: string;
  /** One for each flow at the same time: letting the client in again ends what it was let do before at the same place. */
  readonly redirectUris: readonly string[];
  /** How and where a decision is asked for, and where tokens are got. */
  readonly authorizeMethod: "GET" | "POST";
  readonly authorizePath: string;
  readonly tokenPath: string;
  /** Headers that say who decides. */
  readonly decider: Readonly<Record<string, string>>;
}

/** What a run of flows took. */
export interface FlowRun {
  readonly perSecond: number;
  /** Processor time of the server's process, for each flow. */
  readonly cpuMs: number;
  /** Of each flow, decision and token together. */
  readonly latenciesMs: readonly number[];
}

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

/** Runs so many flows, so many at a time. @throws when one does not end in tokens */
export async function runFlows(
  target: FlowTarget,
  { count, concurrency }: { readonly count: number; readonly concurrency: number },
): Promise<FlowRun> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const latenciesMs: number[] = [];
  let left = count;
  const cpuBefore = cpuMsOf(target.pid);
  const startedAt = performance.now();
  const worker = async (redirectUri: string): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const begunAt = performance.now();
      await flow(target, { agent, redirectUri });
      latenciesMs.push(performance.now() - begunAt);
    }
  };
  await Promise.all(target.redirectUris.slice(0, concurrency).map(worker));
  const tookMs = performance.now() - startedAt;
  agent.destroy();
  return { perSecond: (count * 1_000) / tookMs, cpuMs: (cpuMsOf(target.pid) - cpuBefore) / count, latenciesMs };
}

/** Linux counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function flow(
  target: FlowTarget,
  { agent, redirectUri }: { readonly agent: Agent; readonly redirectUri: string },
): Promise<void> {
  const verifier = randomBytes(32).toString("base64url");
  const decided = await send(`${target.issuer}${target.authorizePath}`, {
    agent,
    method: target.authorizeMethod,
    headers: target.decider,
    fields: {
      action: "allow",
      response_type: "code",
      client_id: target.clientId,
      redirect_uri: redirectUri,
      scope: "coding:read coding:write",
      state: "state",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    },
  });
  const code = URL.canParse(decided.location) ? new URL(decided.location).searchParams.get("code") : null;
  if (code === null) throw failed(target, decided);
  const given = await send(`${target.issuer}${target.tokenPath}`, {
    agent,
    method: "POST",
    headers: {},
    fields: {
      grant_type: "authorization_code",
      client_id: target.clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    },
  });
  if (!given.text.includes('"refresh_token"')) throw failed(target, given);
}

function failed({ name }: FlowTarget, { status, location, text }: Answer): Error {
  return new Error(`${name} answered ${status}: ${location} ${text.slice(0, 500)}`);
}

function send(
  url: string,
  options: {
    readonly agent: Agent;
    readonly method: "GET" | "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly fields: Readonly<Record<string, string>>;
  },
): Promise<Answer> {
  const { agent, method, headers } = options;
  const fields = new URLSearchParams(options.fields).toString();
  const inBody = method === "POST";
  const form = { "content-type": "application/x-www-form-urlencoded", "content-length": Buffer.byteLength(fields) };
  return new Promise((resolve, reject) => {
    const sent = request(
      inBody ? url : `${url}?${fields}`,
      { method, agent, headers: { ...headers, "x-forwarded-for": someAddress(), ...(inBody && form) } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? "", text }),
        );
      },
    );
    sent.on("error", reject);
    sent.end(inBody ? fields : undefined);
  });
}
