import { expect, test } from "vitest";
import { loadConfig } from "../../src/app/config.ts";
import { diagnose } from "../../src/app/diagnose.ts";
import { useGateway } from "../support/use-gateway.ts";

const running = useGateway({ agents: true });

test("all checks pass next to a running gateway, and both agents start in a terminal", async () => {
  const { world, gateway } = running;
  const { port, hostname } = new URL(gateway.url);
  await gateway.app.agents.setDefault("claude-code");
  const config = loadConfig({ ...world.env, POSTERN_PORT: port, POSTERN_HOST: hostname });
  const found = await diagnose(config, { smoke: true });
  expect(found.filter(({ level }) => level !== "ok")).toEqual([]);
  expect(found.map(({ check, message }) => `${check}: ${message}`)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^gateway: Version .* is running\.$/),
      expect.stringMatching(/^port: The gateway listens on 127\.0\.0\.1/),
      expect.stringMatching(/^terminal host: Version .* with 0 terminals\.$/),
      expect.stringMatching(/^start of claude-code: Ready/),
      expect.stringMatching(/^start of codex: Ready/),
    ]),
  );
});
