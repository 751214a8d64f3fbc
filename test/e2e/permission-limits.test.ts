import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Problem } from "../../src/wire/problem.ts";
import { atTerminal } from "../support/type-into.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true, config: { permissionAnswerMs: 2_500 } });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 200 };

test.for(["claude-code", "codex"])(
  "%s: when nobody answers in time the dialog stands, is listed, and is answered in the terminal",
  async (agent) => {
    const { api } = used.gateway;
    const name = `later-${agent}.txt`;
    const asked = await api.ask({ agent, dir: used.world.repository, prompt: `write ${name} with late leave`, waitMs });
    const { sessionId } = asked;
    const [permission] = asked.permissions;
    expect(permission).toMatchObject({ answerable: true });
    await expect.poll(async () => (await api.read(sessionId)).permissions[0]?.answerable, patience).toBe(false);
    expect(await api.read(sessionId)).toMatchObject({
      activity: "needs_permission",
      permissions: [{ permissionId: permission?.permissionId }],
    });
    const late = await api.post<Problem>("/api/coding/coding_answer_permission", {
      sessionId,
      permissionId: permission?.permissionId,
      decision: "allow",
    });
    expect(late).toMatchObject({ status: 409, body: { code: "permission_pending" } });
    expect(late.body.detail).toContain("terminal");
    const path = join(used.world.repository, name);
    await atTerminal(used.world, asked.pid, async ({ press, screen }) => {
      await expect.poll(screen, patience).toMatch(/❯ 1\. Yes|› 1\. Yes/);
      expect(existsSync(path)).toBe(false);
      const allowed = async (): Promise<boolean> => {
        if (!existsSync(path)) await press("\r"); // keys are dropped for a second after the dialog was painted
        return existsSync(path);
      };
      await expect.poll(allowed, { timeout: 30_000, interval: 500 }).toBe(true);
    });
    await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");
    expect((await api.read(sessionId)).permissions).toEqual([]);
    await api.post("/api/coding/coding_close_session", { sessionId });
  },
);
