import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newUuid } from "../../src/core/ids.ts";
import type { ApiClient, World } from "./gateway.ts";

/** A transcript of Claude Code that was not written under Postern. */
export interface PlantedSession {
  readonly prompt: string | readonly unknown[];
  /** Blocks of the agent's message; a short answer when left out. */
  readonly blocks?: readonly Record<string, unknown>[];
  /** By the id of a call. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** Lines that follow, without their common fields. */
  readonly more?: readonly Record<string, unknown>[];
  readonly dir?: string;
  readonly at?: string;
  readonly branch?: string;
}

/** Writes a transcript. @returns the session's id */
export async function plantTranscript(world: World, session: PlantedSession): Promise<string> {
  const sessionId = newUuid();
  const folder = join(world.env["CLAUDE_CONFIG_DIR"] ?? "", "projects", "-planted");
  const { at = new Date().toISOString(), dir = world.repository, branch = "main", blocks, results = {} } = session;
  const line = (fields: Record<string, unknown>): string =>
    `${JSON.stringify({ sessionId, cwd: dir, gitBranch: branch, version: "2.1.329", isSidechain: false, uuid: newUuid(), timestamp: at, ...fields })}\n`;
  const answer = blocks ?? [{ type: "text", text: "Done." }];
  const lines = [
    line({ type: "user", message: { role: "user", content: session.prompt } }),
    line({ type: "assistant", message: { id: "msg_1", role: "assistant", content: answer, stop_reason: "end_turn" } }),
    ...Object.entries(results).map(([id, result]) =>
      line({
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, ...asResult(result) }] },
      }),
    ),
    ...(session.more ?? []).map(line),
  ];
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${sessionId}.jsonl`), lines.join(""));
  return sessionId;
}

function asResult(result: unknown): Record<string, unknown> {
  return typeof result === "object" && result !== null && !Array.isArray(result) ? { ...result } : { content: result };
}

/** Sessions by number, the newest is number 1. @returns their ids */
export async function plantMany(world: World, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 1; number <= count; number++) {
    const at = new Date(Date.UTC(2026, 0, 1) - number * 60_000).toISOString();
    ids.push(await plantTranscript(world, { prompt: `Session number ${number}`, at }));
  }
  return ids;
}

/** Waits until the catalog has them all. */
export async function untilListed(api: ApiClient, count: number): Promise<void> {
  const endsAt = Date.now() + 150_000;
  for (;;) {
    const { body } = await api.post<{ readonly total: number; readonly indexing: unknown }>(
      "/api/coding/coding_list_sessions",
      { limit: 1 },
    );
    if (body.total >= count && body.indexing === null) return;
    if (Date.now() > endsAt) throw new Error(`Only ${body.total} of ${count} sessions are listed.`);
    await new Promise((done) => void setTimeout(done, 100));
  }
}
