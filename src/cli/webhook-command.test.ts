import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import { problem } from "../../test/support/scripted-gateway.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

const webhook = {
  webhookId: "w1",
  url: "https://example.org/hook",
  kinds: null,
  folders: null,
  createdAt: "2025-01-01T00:00:00.000Z",
  disabledAt: null,
  disabledReason: null,
  waiting: 2,
  dead: 1,
};
const delivery = {
  eventId: "01M7ZA2SG9NK1X0GTPCY33DG0A",
  kind: "session.closed",
  state: "dead",
  attempts: 13,
  lastAttemptAt: "2025-01-01T00:00:00.000Z",
  nextAttemptAt: null,
  lastStatus: 500,
  lastError: "The receiver answered 500.",
};

/** The gateway's answers by `METHOD path`. */
const answers: Readonly<Record<string, readonly [number, unknown]>> = {
  "POST /api/webhooks": [201, { ...webhook, secret: "whsec_c2VjcmV0" }],
  "GET /api/webhooks": [200, { webhooks: [webhook] }],
  "DELETE /api/webhooks/w1": [204, null],
  "GET /api/webhooks/w1/deliveries?state=dead": [200, { deliveries: [delivery] }],
  "POST /api/webhooks/w1/deliveries/retry": [200, { retried: 1 }],
  "POST /api/webhooks/w1/test": [200, { ok: true, status: 204, error: null, durationMs: 12 }],
  "POST /api/webhooks/w2/test": [200, { ok: false, status: 404, error: "The receiver answered 404.", durationMs: 1 }],
  "DELETE /api/webhooks/gone": [404, problem(404, "webhook_not_found")],
};

async function webhookCommand(...argv: readonly string[]): Promise<CliRun & { readonly body: unknown }> {
  const socketPath = join(await makeTempFolder(), "gateway.sock");
  let body: unknown = null;
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      if (text !== "") body = JSON.parse(text);
      const [status, answer] = answers[`${request.method} ${request.url}`] ?? [404, problem(404, "route_not_found")];
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(answer === null ? "" : JSON.stringify(answer));
    });
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  onTestFinished(() => void server.close());
  const ports = { socketPath: () => Promise.resolve(socketPath) };
  return { ...(await runCommand(["webhook", ...argv], { ports })), body };
}

test("add prints only the secret on standard output", async () => {
  const run = await webhookCommand("add", webhook.url, "--kinds", "session.closed,session.exited");
  expect(run).toMatchObject({
    code: 0,
    stdout: "whsec_c2VjcmV0\n",
    body: { url: webhook.url, kinds: ["session.closed", "session.exited"] },
  });
  expect(run.stderr).toContain("w1");
});

test("a kind that does not exist is a usage error that names those that do", async () => {
  const run = await webhookCommand("add", webhook.url, "--kinds", "session.party");
  expect(run.code).toBe(2);
  expect(run.stderr).toContain("session.turn_ended");
});

test("list, deliveries, retry and remove print their results", async () => {
  expect((await webhookCommand("list")).stdout).toMatch(/w1 +https:\/\/example\.org\/hook +all +2 +1 +-/);
  const deliveries = await webhookCommand("deliveries", "w1", "--state", "dead");
  expect(deliveries.stdout).toMatch(/session\.closed +dead +13 +- +The receiver answered 500\./);
  expect((await webhookCommand("retry", "w1")).stdout).toBe("Resending 1 delivery.\n");
  expect((await webhookCommand("remove", "w1")).stdout).toBe("Removed w1.\n");
});

test("test reports the result, and in its exit code", async () => {
  expect(await webhookCommand("test", "w1")).toMatchObject({
    code: 0,
    stdout: "The receiver answered 204 in 12 ms.\n",
  });
  expect(await webhookCommand("test", "w2")).toMatchObject({
    code: 1,
    stderr: "postern: webhook_failed: The receiver answered 404.\n",
  });
});

test("an unknown webhook is an error with the gateway's code", async () => {
  expect(await webhookCommand("remove", "gone")).toMatchObject({
    code: 1,
    stderr: "postern: webhook_not_found: This is webhook_not_found. List webhooks with `postern webhook list`.\n",
  });
});
