import { expect, test } from "vitest";
import { useGateway } from "../support/use-gateway.ts";

const secrets = { POSTERN_TOKEN: "pst_gateway-secret", POSTERN_SOMETHING: "gateway-secret", GEMINI_API_KEY: "kept" };
const used = useGateway({ agents: true, env: { ...secrets, OWN_VARIABLE: "of the user" } });

test.for(["claude-code", "codex"])("%s sees its user's variables, and no secret of the gateway", async (agent) => {
  const { world, gateway } = used;
  const dir = world.repository;
  const request = { agent, dir, prompt: "run env", permissionMode: "all", waitMs: 30_000 } as const;
  const asked = await gateway.api.ask(request);
  const call = asked.turns?.[1]?.blocks.find((block) => block.type === "tool_call");
  const environment = call?.type === "tool_call" ? (call.result?.text ?? "") : "";
  expect(environment).toContain("OWN_VARIABLE=of the user");
  for (const secret of ["pst_gateway-secret", "POSTERN_TOKEN", "POSTERN_SOMETHING", "POSTERN_HOME", "gateway-secret"]) {
    expect(environment).not.toContain(secret);
  }
  expect(environment).not.toContain(agent === "codex" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY");
  await gateway.api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
});
