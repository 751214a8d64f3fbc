import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { atTerminal } from "../support/type-into.ts";
import { useGateway } from "../support/use-gateway.ts";

/** When a call takes ten minutes, Codex 0.169.0 ends the turn without it, and shows the dialog of its permission after that. */
const permissionAnswerMs = Number(process.env["POSTERN_LATE_DIALOG_MS"] ?? 600_000);
const used = useGateway({ agents: true, config: { permissionAnswerMs } });
const patience = { timeout: permissionAnswerMs + 120_000, interval: 1_000 };
const soon = { timeout: 30_000, interval: 200 };

test(
  "Codex: a permission that nobody answers is needed as long as its dialog stands, also after its turn",
  async () => {
    const { api } = used.gateway;
    const prompt = "escalate touch late.txt";
    const asked = await api.ask({ agent: "codex", dir: used.world.repository, prompt, waitMs: 30_000 });
    const { sessionId } = asked;
    await atTerminal(used.world, asked.pid, async ({ screen }) => {
      await expect.poll(screen, patience).toMatch(/› 1\. Yes/);
    });
    const permissionId = asked.permissions[0]?.permissionId;
    const needed = { activity: "needs_permission", permissions: [{ permissionId, answerable: true }] };
    await expect.poll(() => api.read(sessionId), soon).toMatchObject(needed);
    await used.gateway.close();
    const next = await startGateway(used.world);
    try {
      await expect.poll(() => next.api.read(sessionId), soon).toMatchObject(needed);
      const answer = { sessionId, permissionId, decision: "allow" };
      expect(await next.api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
      await expect.poll(() => next.api.read(sessionId), soon).toMatchObject({ activity: "idle", permissions: [] });
    } finally {
      await next.close();
    }
  },
  permissionAnswerMs + 300_000,
);
