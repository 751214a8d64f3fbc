import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import type { MachineState } from "./ports.ts";

const clock = createFakeClock();
const idle: MachineState = {
  home: "/home/anna/.postern",
  database: "/home/anna/.postern/postern.db",
  gateway: null,
  terminalHost: null,
  memory: { gatewayBytes: 0, hostBytes: 0, agentsBytes: 0 },
};
const gateway = {
  pid: 4711,
  version: "1.2.3",
  startedAt: new Date(clock.now() - 3 * 3_600_000 - 12 * 60_000).toISOString(),
  baseUrl: "http://localhost:7178",
  addresses: ["http://127.0.0.1:7178"],
};
const busy: MachineState = {
  ...idle,
  gateway,
  terminalHost: { pid: 4712, version: "1.2.3", liveTerminals: 2 },
  memory: { gatewayBytes: 120_000_000, hostBytes: 60_000_000, agentsBytes: 700_000_000 },
};

async function* typed(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

test("status without a gateway says how to start one, and exits with 3", async () => {
  const run = await runCommand(["status"], { ports: { machine: async () => idle } });
  expect(run).toMatchObject({ code: 3, stderr: "" });
  expect(run.stdout).toMatch(/^Gateway +not running\. Start it with `postern serve`\.$/m);
  expect(run.stdout).toMatch(/^State +\/home\/anna\/\.postern$/m);
  expect(run.stdout).not.toContain("Memory");
});

test("status shows address, version, pid, uptime, host and memory, even when the gateway does not respond", async () => {
  const socketPath = join(await makeTempFolder(), "gateway.sock");
  const server = createServer((_request, response) => void response.destroy()).listen(socketPath);
  onTestFinished(() => void server.close());
  const world = { ports: { machine: async () => busy, socketPath: async () => socketPath }, clock };
  const { code, stdout } = await runCommand(["status"], world);
  expect(code).toBe(1);
  expect(stdout).toContain("running at http://localhost:7178 (version 1.2.3, pid 4711, up 3 h 12 min)");
  expect(stdout).toMatch(/^Problem .*stopped before it answered.*Check with `postern doctor`\.$/m);
  expect(stdout).toContain("running with 2 terminals (version 1.2.3, pid 4712)");
  expect(stdout).toContain("880.0 MB (gateway 120.0 MB, terminal host 60.0 MB, agents 700.0 MB)");
  const json = await runCommand(["status", "--json"], world);
  expect(JSON.parse(json.stdout)).toMatchObject({ ...busy, sessions: null, problem: expect.any(String) });
});

test("stop --all asks how many agents would end, and only a yes ends them", async () => {
  const run = async (argv: readonly string[], answer: string | null) => {
    const acts: string[] = [];
    const done = await runCommand(["stop", ...argv], {
      ports: {
        machine: async () => busy,
        async stopGateway() {
          acts.push("gateway");
          return { pid: 4711, service: null };
        },
        async endTerminals() {
          acts.push("host");
          return true;
        },
      },
      interactive: answer !== null,
      stdin: typed(answer ?? ""),
    });
    return { ...done, acts };
  };
  expect(await run(["--all"], "n\n")).toMatchObject({
    acts: [],
    stderr: expect.stringMatching(/^2 agents will end.*\[y\/N\] Nothing was stopped\.\n$/),
  });
  expect(await run(["--all"], "y\n")).toMatchObject({
    acts: ["gateway", "host"],
    stdout: "Stopped the gateway (pid 4711).\nEnded the terminal host and 2 agents.\n",
  });
  expect(await run(["--all"], null)).toMatchObject({ code: 2, acts: [], stderr: expect.stringContaining("--yes") });
  expect(await run(["--all", "--yes", "--json"], null)).toMatchObject({ code: 0, acts: ["gateway", "host"] });
  const plain = await run([], null);
  expect(plain.acts).toEqual(["gateway"]);
  expect(plain.stdout).toContain("2 agents keep running. To end them: postern stop --all");
});

test("stop names the service manager's command, and a host that does not exit is an error", async () => {
  const stopGateway = async () => ({ pid: 4711, service: "systemctl --user stop postern.service" });
  const machine = async () => busy;
  const { stdout } = await runCommand(["stop"], { ports: { machine, stopGateway } });
  expect(stdout).toContain("(`systemctl --user stop postern.service`)");
  const stuck = await runCommand(["stop", "--all", "--yes"], {
    ports: { machine, stopGateway, endTerminals: async () => false },
  });
  expect(stuck).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("did not exit") });
  expect(await runCommand(["stop"], { ports: { machine: async () => idle } })).toMatchObject({
    code: 0,
    stdout: "No gateway is running.\n",
  });
});
