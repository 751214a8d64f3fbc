import { expect, test } from "vitest";
import type { Turn } from "../../src/wire/turn.ts";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 30_000;

function exchanges(turns: readonly Turn[]): string[] {
  return turns.map(({ role, text }) => `${role}: ${text}`);
}

test("waitMs is an upper bound while the agent's process is stopped, and the prompt arrives once it continues", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const { sessionId, pid } = await api.ask({ agent: "scripted", dir, prompt: "before", waitMs });
  const timed = async <T>(task: Promise<T>): Promise<readonly [T, number]> => {
    const began = performance.now();
    return [await task, performance.now() - began];
  };
  process.kill(pid ?? 0, "SIGSTOP");
  try {
    const [asked, askedMs] = await timed(api.ask({ dir, sessionId, prompt: "stopped", waitMs: 3_000 }));
    const [, readMs] = await timed(api.read(sessionId, { waitMs: 1_000 }));
    const [, againMs] = await timed(api.ask({ dir, sessionId, prompt: "behind it", waitMs: 1_000 }));
    expect(asked).toMatchObject({ delivered: null, started: "reconnect" });
    expect(askedMs).toBeLessThan(4_500);
    expect(readMs).toBeLessThan(2_500);
    expect(againMs).toBeLessThan(2_500);
  } finally {
    process.kill(pid ?? 0, "SIGCONT");
  }
  const texts = async (): Promise<readonly string[]> => exchanges((await api.read(sessionId)).turns);
  await expect
    .poll(texts, { timeout: 60_000 })
    .toEqual([
      ...["before", "stopped", "behind it"].flatMap((words) => [`user: ${words}`, `assistant: ${echoOf(words)}`]),
    ]);
  await api.post("/api/coding/coding_close_session", { sessionId });
});
