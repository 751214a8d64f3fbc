import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { appScopes } from "../../src/wire/access.ts";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { decidingToken } from "../support/oauth-client.ts";
import { useGateway } from "../support/use-gateway.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../docs/oauth.md"), "utf8");
const used = useGateway({ agents: false });

test("the commands of docs/oauth.md work as printed", async () => {
  const script = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block).join("\n");
  const env = {
    PATH: process.env["PATH"],
    GATEWAY: used.gateway.app.baseUrl,
    OWNER_TOKEN: await decidingToken(used.gateway),
  };
  const { stdout, stderr } = await promisify(execFile)("sh", ["-eu", "-c", script], { env, timeout: 30_000 });
  expect(stderr).toBe("");
  expect(stdout.trim().split("\n").at(-2)).toMatch(/401$/);
  expect(stdout.trim().split("\n").at(-1)).toBe("coding:read");
  expect(stdout).toContain('"sessions":[]');
});

test("it names every route and every scope", () => {
  for (const path of Object.values(oauthPaths)) expect(page).toContain(path);
  for (const scope of appScopes) expect(page).toContain(`\`${scope}\``);
});
