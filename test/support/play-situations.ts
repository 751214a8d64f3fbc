import { afterAll, beforeAll, test } from "vitest";
import type { TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";
import { hostOf, play, type Situation } from "./situations.ts";
import { useGateway } from "./use-gateway.ts";
import { lags } from "./witness.ts";

/** At most as many agents as this run at a time; the machine has to keep up with them and with two other files. */
const atOnce = 3;

/** A test for each situation of each agent, by its name. */
export function playSituations(situations: Readonly<Record<string, readonly Situation[]>>): void {
  const used = useGateway({
    agents: true,
    env: {
      // Claude Code reports when a limit is reset only with a subscription's token.
      ANTHROPIC_API_KEY: "",
      CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-scripted-000000000000000000000000",
      CLAUDE_CODE_MAX_RETRIES: "2",
      // Codex, and a sub-agent of Claude Code, open their own dialog only when the hook waits no longer.
      POSTERN_PERMISSION_ANSWER_MS: "4000",
    },
  });

  let host: TerminalHostClient;
  beforeAll(async () => {
    host = await hostOf(used.world);
  });
  afterAll(async () => {
    await host.close();
    for (const { title, what, ms } of lags.filter(({ ms }) => ms > 700)) console.log(`${ms} ms: ${title}: ${what}`);
  });

  let running = 0;
  const waiting: (() => void)[] = [];

  async function inTurn(task: () => Promise<void>): Promise<void> {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  const rows = Object.entries(situations).flatMap(([agent, all]) => all.map((situation) => ({ agent, situation })));
  for (const [index, { agent, situation }] of rows.entries()) {
    test.concurrent(`${agent}: ${situation.title}`, { timeout: 240_000 }, async () => {
      const stage = { world: used.world, api: used.gateway.api, agent, host };
      await inTurn(() => play(stage, situation, `word${index + 100}x`));
    });
  }
}
