import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import type { SessionEvent } from "../wire/events.ts";

const ids = ["01M7ZA2SG9NK1X0GTPCY33DG0A", "01M7ZA2SG9NK1X0GTPCY33DG0B", "01M7ZA2SG9NK1X0GTPCY33DG0C"] as const;

/** A gateway with scripted event streams, one for each connection. It records the `last-event-id` of each request. */
async function scripted(streams: readonly ((response: ServerResponse) => void)[]) {
  const socketPath = join(await makeTempFolder(), "gateway.sock");
  const requests: { readonly path: string; readonly lastEventId: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const header = request.headers["last-event-id"];
    requests.push({ path: request.url ?? "", lastEventId: header?.toString() });
    response.writeHead(200, { "content-type": "text/event-stream" });
    streams[requests.length - 1]?.(response);
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const run = (...argv: readonly string[]): Promise<CliRun> =>
    runCommand(["events", ...argv], { ports: { socketPath: () => Promise.resolve(socketPath) } });
  return { requests, run };
}

function block(event: SessionEvent): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

function ended(id: string): SessionEvent {
  return { ...turnEnded(), id };
}

test("events prints a line for each event, without control characters", async () => {
  const { requests, run } = await scripted([
    (response) => {
      response.write(": still here\nid: 00000000000000000000000000\n\n");
      const text = block({ ...ended(ids[0]), dir: "/srv/\u001b[31mcode" });
      response.write(text.slice(0, 40));
      setTimeout(() => response.write(text.slice(40)), 20);
    },
  ]);
  const { code, stdout } = await run("--follow", "--session", "s 1", "--count", "1");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: "2025-01-01T00:00:00.000Z turn ended s1 · claude-code · /srv/code\n",
  });
  expect(requests).toEqual([{ path: "/api/coding/events?sessionId=s+1", lastEventId: undefined }]);
});

test("events resumes after the last event when the gateway restarts, and reports the lost connection once", async () => {
  const { requests, run } = await scripted([
    (response) => void response.write(block(ended(ids[0])), () => response.destroy()),
    (response) => response.destroy(),
    (response) => void response.write(block(ended(ids[1]))),
  ]);
  const { code, stdout, stderr } = await run("--json", "--count", "2");
  expect(code).toBe(0);
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line): string => JSON.parse(line).id),
  ).toEqual([ids[0], ids[1]]);
  expect(requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, ids[0], ids[0]]);
  expect(stderr.match(/Reconnecting/g)).toHaveLength(1);
});

test("events reports missing events, and starts after the given event", async () => {
  const { requests, run } = await scripted([
    (response) => {
      const reset = { kind: "reset", id: ids[1], at: "2025-01-01T00:00:00.000Z", reason: "Too old." };
      response.write(`id: ${ids[1]}\nevent: reset\ndata: ${JSON.stringify(reset)}\n\n${block(ended(ids[2]))}`);
    },
  ]);
  const { stdout, stderr } = await run("--after", ids[0], "--count", "1");
  expect(requests[0]?.lastEventId).toBe(ids[0]);
  expect(stderr).toContain("Some events are missing: Too old.");
  expect(stdout).toContain("turn ended");
});

test("events without a gateway ends with code 3", async () => {
  const { code, stderr } = await runCommand(["events", "--follow"], {
    ports: { socketPath: () => Promise.resolve("/nowhere/gateway.sock") },
  });
  expect(code).toBe(3);
  expect(stderr).toContain("postern serve");
});
