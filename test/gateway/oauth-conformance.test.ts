import { spawn } from "node:child_process";
import { once } from "node:events";
import { glob, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { createOAuthPeer, decidingToken, type OAuthPeer, type TestClient } from "../support/oauth-client.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { useGateway } from "../support/use-gateway.ts";

// The suite of the MCP project for authorization servers. What it does not ask of us stands in docs/oauth.md.

const program = resolve(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const used = useGateway({ agents: false });
let peer: OAuthPeer;
let ownerToken = "";
beforeAll(async () => {
  ownerToken = await decidingToken(used.gateway);
  peer = createOAuthPeer(used.gateway.app.baseUrl, ownerToken);
});

const checksSchema = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Runs the suite; its one errand to a browser is done by the owner's token. */
async function runSuite(client: TestClient, more: readonly string[]): Promise<readonly string[]> {
  const folder = await makeTempFolder();
  const port = await freePort();
  const args = ["authorization", "--url", peer.issuer, "--port", String(port), "--output-dir", folder];
  const argv = [program, ...args, "--client-id", client.clientId, ...more];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  let sent = false;
  const listen = (text: string): void => {
    said += text;
    const asked = /^http\S+\/oauth\/authorize\?\S+$/m.exec(said)?.[0];
    if (asked === undefined || sent || !said.includes("Waiting up to")) return;
    sent = true;
    void allow(new URL(asked)).then((location) => fetch(location));
  };
  child.stdout.setEncoding("utf8").on("data", listen);
  child.stderr.setEncoding("utf8").on("data", listen);
  const [code] = await once(child, "close");
  const statuses: string[] = [];
  for await (const file of glob(join(folder, "**/checks.json"))) {
    const checks = checksSchema.parse(JSON.parse(await readFile(file, "utf8")));
    statuses.push(...checks.map(({ id, status, errorMessage = "" }) => `${id} ${status} ${errorMessage}`.trim()));
  }
  expect(code, said).toBe(0);
  return statuses.toSorted((one, two) => one.localeCompare(two));
}

async function allow(url: URL): Promise<string> {
  const form = new URLSearchParams(url.searchParams);
  form.set("action", "allow");
  const headers = { authorization: `Bearer ${ownerToken}` };
  const answer = await fetch(`${url.origin}${url.pathname}`, {
    method: "POST",
    redirect: "manual",
    headers,
    body: form,
  });
  return answer.headers.get("location") ?? "";
}

test("its authorization suite passes", async () => {
  const client = await peer.newClient();
  const statuses = await runSuite(client, ["--resource", `${peer.issuer}${oauthPaths.mcp}`]);
  expect(statuses).toEqual([
    "authorization-code-grant SUCCESS",
    "authorization-server-metadata SUCCESS",
    "authorization-server-metadata-cimd SUCCESS",
  ]);
});
