import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  askOutput,
  problem,
  readOutput,
  type ScriptedGateway,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";

let gateway: ScriptedGateway | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function coding(script: Parameters<typeof startScriptedGateway>[0], ...argv: readonly string[]): Promise<CliRun> {
  gateway = await startScriptedGateway(script);
  const { socketPath } = gateway;
  return runCommand(["coding", ...argv], { ports: { socketPath: async () => socketPath } });
}

const lastScreen = "\u001b[2J\u001b[31mNo such model:\u009b0m x-9\r\n  try /model\u0007\n\n";
const framed = "The agent's last screen:\n\n  │ No such model: x-9\n  │   try /model\n\n";

test("ask prints the last screen of an agent that did not start, without control characters, then what to do", async () => {
  const detail = "claude-code ended (exit code 1) before it accepted the prompt. See `postern doctor --smoke`.";
  const body = problem(503, "agent_start_failed", { detail, sessionId: "0b0c", exitCode: 1, signal: null, lastScreen });
  const failed = { coding_ask: [{ status: 503, body }] } as const;
  expect(await coding(failed, "ask", "hi")).toEqual({
    code: 1,
    stdout: "",
    stderr: `${framed}postern: agent_start_failed: ${detail}\n`,
  });
  await gateway?.close();
  const json = await coding(failed, "ask", "hi", "--json");
  expect(JSON.parse(json.stderr)).toMatchObject({ code: "agent_start_failed", lastScreen });
});

test("ask and read print the last screen of an agent that ended without an answer", async () => {
  const failure = { exitCode: null, signal: "SIGKILL", lastScreen };
  const ended = { status: "failed", activity: null, signal: "SIGKILL", failure, turns: [] } as const;
  const asked = await coding({ coding_ask: [{ body: askOutput({ ...ended, turns: [] }) }] }, "ask", "hi");
  expect(asked).toMatchObject({ code: 1, stdout: "" });
  expect(asked.stderr).toContain(framed);
  expect(asked.stderr).toMatch(/agent_failed: claude-code was ended by SIGKILL .*`postern doctor --smoke`.*\n$/);
  await gateway?.close();
  const read = await coding({ coding_read_session: [{ body: readOutput({ ...ended, turns: [] }) }] }, "read", "x");
  expect(read).toMatchObject({ code: 0, stdout: framed });
  await gateway?.close();
  const silent = readOutput({ ...ended, turns: [], failure: { ...failure, lastScreen: "\u001b[H\n" } });
  const nothing = await coding({ coding_read_session: [{ body: silent }] }, "read", "x");
  expect(nothing.stdout).toBe("The agent's last screen is empty.\n");
});
