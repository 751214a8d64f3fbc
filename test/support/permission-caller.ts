import { join } from "node:path";
import { expect } from "vitest";
import type { AnswerPermissionOutput, AskOutput, PendingPermission } from "../../src/wire/coding.ts";
import type { useGateway } from "./use-gateway.ts";

const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };

/** What tests of permissions ask of a gateway. */
export function permissionCaller(used: ReturnType<typeof useGateway>) {
  return {
    /** Asks for something that needs a permission, and waits for the question. */
    async askFor(agent: string, prompt: string): Promise<{ asked: AskOutput; permission: PendingPermission }> {
      const asked = await used.gateway.api.ask({ agent, dir: used.world.repository, prompt, waitMs });
      const [permission] = asked.permissions;
      if (permission === undefined) throw new Error(`nothing was asked: ${JSON.stringify(asked)}`);
      return { asked, permission };
    },
    answer<T = AnswerPermissionOutput>(sessionId: string, permissionId: string, more: Record<string, unknown>) {
      const body = { sessionId, permissionId, ...more };
      return used.gateway.api.post<T>("/api/coding/coding_answer_permission", body);
    },
    async untilIdle(sessionId: string) {
      const { api } = used.gateway;
      await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("idle");
      return api.read(sessionId);
    },
    close: (sessionId: string) => used.gateway.api.post("/api/coding/coding_close_session", { sessionId }),
    inProject: (name: string): string => join(used.world.repository, name),
  };
}
