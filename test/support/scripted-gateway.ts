import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import type { AskOutput, PendingPermission, ReadOutput, SessionSummary } from "../../src/wire/coding.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { makeTestFolder } from "./test-folder.ts";

/** One answer of a {@link ScriptedGateway}. */
export interface ScriptedAnswer {
  readonly status?: number;
  readonly body: unknown;
  readonly delayMs?: number;
}

/** A server on a Unix socket that answers each tool from a script and records the requests. */
export interface ScriptedGateway {
  readonly socketPath: string;
  readonly requests: readonly { readonly path: string; readonly body: unknown }[];
  close(): Promise<void>;
}

/** Answers `POST /api/coding/<tool>` with the next answer of that tool; the last one is repeated. */
export async function startScriptedGateway(
  script: Readonly<Record<string, readonly [ScriptedAnswer, ...ScriptedAnswer[]]>>,
): Promise<ScriptedGateway> {
  const folder = makeTestFolder("gateway");
  const socketPath = join(folder, "gateway.sock");
  const requests: { path: string; body: unknown }[] = [];
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "";
      requests.push({ path, body: await bodyOf(request) });
      const tool = path.slice("/api/coding/".length);
      const answers = script[tool] ?? [{ status: 404, body: problem(404, "route_not_found") }];
      const count = asked.get(tool) ?? 0;
      asked.set(tool, count + 1);
      const answer = answers[Math.min(count, answers.length - 1)] ?? answers[0];
      if (answer.delayMs !== undefined) await new Promise((wake) => setTimeout(wake, answer.delayMs));
      response.writeHead(answer.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    })();
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  return {
    socketPath,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += String(chunk);
  const body: unknown = text === "" ? null : JSON.parse(text);
  return body;
}

/** A problem body with this code. */
export function problem(status: number, code: string, more: object = {}): object {
  return { type: "about:blank", title: code, status, detail: `This is ${code}.`, code, ...more };
}

/** An idle session, with the test's changes. */
export function sessionSummary(differs: Partial<SessionSummary> = {}): SessionSummary {
  return {
    sessionId: "0b0c0000-0000-4000-8000-000000000001",
    sessionAliases: [],
    agent: "claude-code",
    dir: "/srv/code",
    title: null,
    status: "running",
    activity: "idle",
    owner: "gateway",
    pid: 4242,
    createdAt: "2025-01-01T00:00:00.000Z",
    updatedAt: "2025-01-01T00:00:01.000Z",
    turnCount: 2,
    queuedPrompts: 0,
    draft: false,
    model: null,
    branch: null,
    worktree: null,
    permissions: [],
    screen: null,
    resetsAt: null,
    sizeBytes: 1000,
    exitCode: null,
    signal: null,
    failure: null,
    turnFailure: null,
    warnings: [],
    continuedBy: null,
    closedAt: null,
    pinned: false,
    archived: false,
    labels: [],
    unread: false,
    keepRunning: false,
    idleEndsAt: null,
    endedAfterIdleMs: null,
    ...differs,
  };
}

/** A permission that can be answered. */
export function pendingPermission(differs: Partial<PendingPermission> = {}): PendingPermission {
  return {
    permissionId: "5f1e0000000000000000000000000001",
    kind: "permission",
    tool: "Bash",
    input: { command: "ls" },
    askedAt: "2025-01-01T00:00:00.000Z",
    answerable: true,
    ...differs,
  };
}

/** A finished turn of one text block. */
export function turn(index: number, text: string): Turn {
  const role = index % 2 === 0 ? "user" : "assistant";
  const at = "2025-01-01T00:00:00.000Z";
  return { index, role, at, endedAt: at, text, blocks: [{ type: "text", text }], model: null, usage: null };
}

/** An answer to `coding_ask`. */
export function askOutput(differs: Partial<AskOutput> = {}): AskOutput {
  return {
    ...sessionSummary(),
    started: "new",
    delivered: true,
    deliveryState: "delivered",
    promptId: "prompt",
    ignored: [],
    turns: [turn(0, "hi"), turn(1, "hello")],
    ...differs,
  };
}

/** An answer to `coding_read_session`. */
export function readOutput(differs: Partial<ReadOutput> = {}): ReadOutput {
  return { ...sessionSummary(), turns: [turn(0, "hi"), turn(1, "hello")], nextAfter: 1, skippedLines: 0, ...differs };
}
