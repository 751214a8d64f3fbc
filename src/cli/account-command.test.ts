import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { onlyPorts, runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { PosternError } from "../core/errors.ts";
import type { AddAccountInput } from "../wire/accounts.ts";
import type { AddClientInput } from "../wire/oauth.ts";
import type { CliStores } from "./ports.ts";

const clock = createFakeClock();
const expiresAt = new Date(clock.now() + 10 * 60_000).toISOString();
const createdAt = "2025-01-01T00:00:00.000Z";

async function run(argv: readonly string[], clientsKnown = true) {
  const unused = (): never => {
    throw new Error("This command should not need that.");
  };
  const asked: (AddAccountInput | AddClientInput)[] = [];
  const account = (name: string, scopes: AddAccountInput["scopes"]) => ({
    accountId: `id-of-${name}`,
    name,
    isOwner: false,
    scopes,
    createdAt,
  });
  const client = { clientId: "c1", origin: "added", createdAt, lastUsedAt: null } as const;
  const stores: CliStores = {
    folders: { add: unused, list: unused, remove: unused },
    profiles: { read: unused, change: unused, proposals: unused, approve: unused },
    tokens: { create: unused, list: unused, revoke: unused },
    agents: {
      list: unused,
      known: unused,
      locate: unused,
      versionNotice: unused,
      installEnvironment: unused,
      logIn: unused,
      configure: unused,
    },
    browsers: { createLink: unused, list: unused, revoke: unused },
    accounts: {
      async add(wanted, baseUrl) {
        asked.push(wanted);
        const signInLink = { url: `${baseUrl ?? "http://configured"}/sign-in#secret`, expiresAt };
        return { ...account(wanted.name, wanted.scopes), signInLink };
      },
      list: async () => [{ ...account("owner", []), isOwner: true }, account("an\u001b]0;na", ["coding:read"])],
      async remove(name) {
        if (name !== "anna") throw new PosternError("account_not_found", `There is no account ${name}.`);
        return account(name, []);
      },
    },
    clients: {
      async add(wanted) {
        asked.push(wanted);
        return { ...client, ...wanted, clientSecret: wanted.confidential ? "s3cret" : null };
      },
      list: async () =>
        clientsKnown ? [{ ...client, name: "x\u001b[2Jy", redirectUris: ["app:/cb"], confidential: false }] : [],
      async remove(clientId) {
        if (clientId !== "c1") throw new PosternError("client_not_found", "There is none.");
      },
    },
    close: async () => undefined,
  };
  const folder = await makeTempFolder();
  const ports = onlyPorts({ openStores: async () => stores, socketPath: async () => `${folder}/none.sock` });
  return { ...(await runCommand(argv, { ports, clock })), asked };
}

describe("postern account", () => {
  test("add prints the sign-in link alone on standard output, and the account on standard error", async () => {
    const { code, stdout, stderr, asked } = await run([
      "account",
      "add",
      "anna",
      "--scopes",
      "coding:read,coding:write",
    ]);
    expect([code, stdout]).toEqual([0, "http://configured/sign-in#secret\n"]);
    expect(stderr).toContain(
      "Added anna with coding:read,coding:write. The link signs in one browser as anna. Single use",
    );
    expect(stderr).toContain("expires in 10 minutes");
    expect(asked).toEqual([{ name: "anna", scopes: ["coding:read", "coding:write"] }]);
    const at = ["--base-url", "https://agents.example.org", "--json"];
    const json = await run(["account", "add", "anna", "--scopes", "coding:read", ...at]);
    expect([JSON.parse(json.stdout), json.stderr]).toEqual([
      expect.objectContaining({
        accountId: "id-of-anna",
        scopes: ["coding:read"],
        signInLink: { url: "https://agents.example.org/sign-in#secret", expiresAt },
      }),
      "",
    ]);
  });

  test("list shows names as plain text", async () => {
    const { stdout } = await run(["account", "list"]);
    expect(stdout).toMatch(/owner +all \(owner\)/);
    expect(stdout).toMatch(/^[\n\x20-\x7e]*$/);
    expect(JSON.parse((await run(["account", "list", "--json"])).stdout).accounts).toHaveLength(2);
  });

  test("remove names the removed account, and reports an unknown name", async () => {
    expect(await run(["account", "remove", "anna"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Removed anna\. /),
    });
    expect(JSON.parse((await run(["account", "remove", "anna", "--json"])).stdout)).toMatchObject({
      removed: { accountId: "id-of-anna" },
    });
    const missing = await run(["account", "remove", "bob"]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^postern: account_not_found: /) });
  });
});

describe("postern client", () => {
  test("add prints the id, and the secret of a confidential client", async () => {
    const open = await run([
      "client",
      "add",
      "My app",
      "--redirect",
      "com.example.app:/a",
      "--redirect",
      "http://localhost/cb",
    ]);
    expect([open.code, open.stdout]).toEqual([0, "c1\n"]);
    const redirectUris = ["com.example.app:/a", "http://localhost/cb"];
    expect(open.asked).toEqual([{ name: "My app", redirectUris, confidential: false }]);
    const kept = await run(["client", "add", "A server", "--confidential"]);
    expect([kept.stdout, kept.stderr]).toEqual(["c1\ns3cret\n", expect.stringContaining("shown only once")]);
    expect(JSON.parse((await run(["client", "add", "x", "--json"])).stdout)).toMatchObject({ clientSecret: null });
  });

  test("list shows names as plain text, and the next step when there are none", async () => {
    const { stdout } = await run(["client", "list"]);
    expect(stdout).toContain("app:/cb");
    expect(stdout).toMatch(/^[\n\x20-\x7e]*$/);
    expect(JSON.parse((await run(["client", "list", "--json"])).stdout).clients).toHaveLength(1);
    expect(await run(["client", "list"], false)).toMatchObject({
      stdout: "",
      stderr: expect.stringContaining("postern client add"),
    });
  });

  test("remove names the removed client, and reports an unknown id", async () => {
    expect(await run(["client", "remove", "c1"])).toMatchObject({ code: 0, stdout: "Removed c1.\n" });
    expect(await run(["client", "remove", "c2"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^postern: client_not_found: /),
    });
  });
});
