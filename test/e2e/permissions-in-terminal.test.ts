import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bearer, openTerminal } from "../support/terminal-client.ts";
import { atTerminal } from "../support/type-into.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 200 };

// Both agents were seen to; one is enough for what is the gateway's own.
test.for(["codex"])(
  "%s: while permissions are set to the terminal, a waiting one is asked there, and later ones too",
  async (agent) => {
    const { world, gateway } = used;
    const { api, url, app } = gateway;
    const name = (which: string): string => `${which}-${agent}.txt`;
    const isThere = (which: string): boolean => existsSync(join(world.repository, name(which)));
    const asked = await api.ask({ agent, dir: world.repository, prompt: `write ${name("first")} with leave`, waitMs });
    const { sessionId } = asked;
    expect(asked.permissions).toMatchObject([{ answerable: true }]);

    const query = { session_id: sessionId, cols: 100, rows: 30, permissions: "terminal" };
    const viewer = openTerminal({ url, headers: await bearer(app), query });
    const answerable = async (): Promise<boolean | undefined> => (await api.read(sessionId)).permissions[0]?.answerable;
    await expect.poll(answerable, patience).toBe(false);

    const allowInTerminal = (which: string): Promise<void> =>
      atTerminal(world, asked.pid, async ({ press, screen }) => {
        await expect.poll(screen, patience).toMatch(/❯ 1\. Yes|› 1\. Yes/);
        const allowed = async (): Promise<boolean> => {
          if (!isThere(which)) await press("\r"); // keys are dropped for a second after the dialog was painted
          return isThere(which);
        };
        await expect.poll(allowed, { timeout: 30_000, interval: 500 }).toBe(true);
      });
    await allowInTerminal("first");
    await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");

    const later = { sessionId, dir: world.repository };
    const second = await api.ask({ ...later, prompt: `write ${name("second")} with leave`, waitMs });
    expect(second).toMatchObject({ activity: "needs_permission", permissions: [{ answerable: false }] });
    await allowInTerminal("second");
    await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");

    viewer.ws.close();
    await viewer.closed;
    const third = await api.ask({ ...later, prompt: `write ${name("third")} with leave`, waitMs });
    expect(third.permissions).toMatchObject([{ answerable: true }]);
    const [{ permissionId } = { permissionId: "" }] = third.permissions;
    const answered = await api.post("/api/coding/coding_answer_permission", {
      sessionId,
      permissionId,
      decision: "allow",
    });
    expect(answered.status).toBe(200);
    await expect.poll(() => isThere("third"), patience).toBe(true);
    await api.post("/api/coding/coding_close_session", { sessionId });
  },
);
