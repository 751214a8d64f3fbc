import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { PermissionRule, PermissionRulesPreview } from "../../src/wire/permission-rules.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { permissionCaller } from "../support/permission-caller.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 30_000;
const patience = { timeout: 30_000, interval: 100 };
const { askFor, answer, untilIdle, close, inProject } = permissionCaller(used);
const path = "/api/permission-rules";

async function rules(): Promise<readonly PermissionRule[]> {
  return (await used.gateway.api.get<{ rules: PermissionRule[] }>(path)).body.rules;
}

test("an answer for the session answers the next equal request, not a similar one, and is counted, audited and revoked", async () => {
  const { api } = used.gateway;
  const { asked, permission } = await askFor("scripted", "run touch first.txt");
  const { sessionId } = asked;
  const { permissionId } = permission;
  const wanted = { sessionId, permissionId, remember: { for: "session" } };
  const preview = await api.post<PermissionRulesPreview>(`${path}/preview`, wanted);
  expect(preview.body).toEqual({
    rules: [
      {
        tool: "command",
        pattern: "touch first.txt",
        words: "Allow commands that start with `touch first.txt` in this session.",
        tooBroad: null,
      },
    ],
    undriven: false,
    covers: true,
    refusal: null,
  });
  const remember = { for: "session", patterns: ["touch"] };
  expect(await answer(sessionId, permissionId, { decision: "allow", remember })).toMatchObject({ status: 200 });
  await untilIdle(sessionId);

  const dir = used.world.repository;
  const next = await api.ask({ dir, sessionId, prompt: "run touch second.txt", waitMs });
  expect(next.permissions).toEqual([]);
  expect(existsSync(inProject("second.txt"))).toBe(true);
  await expect.poll(async () => (await rules()).map(({ uses }) => uses), patience).toEqual([1]);
  const admin = await used.gateway.client(["admin"]);
  const { body } = await admin.get<{ entries: { action: string; details: Record<string, unknown> }[] }>(
    "/api/audit?kind=permission",
  );
  expect(body.entries.map(({ action }) => action)).toEqual(["permission_rule_used", "permission_rule_added"]);
  expect(body.entries[0]?.details).toMatchObject({ sessionId, createdWith: "token" });

  const similar = await api.ask({ dir, sessionId, prompt: "run touch third.txt && id", waitMs });
  expect(similar.permissions).toHaveLength(1);
  await answer(sessionId, similar.permissions[0]?.permissionId ?? "", { decision: "deny" });
  await untilIdle(sessionId);

  const [rule] = await rules();
  expect(await api.delete(`${path}/${rule?.ruleId}`)).toMatchObject({ status: 204 });
  const after = await api.ask({ dir, sessionId, prompt: "run touch fourth.txt", waitMs });
  expect(after.permissions).toHaveLength(1);
  await answer(sessionId, after.permissions[0]?.permissionId ?? "", { decision: "deny" });
  await close(sessionId);
  const gone = await api.delete<Problem>(`${path}/${rule?.ruleId}`);
  expect(gone).toMatchObject({ status: 404, body: { code: "rule_not_found" } });
});
