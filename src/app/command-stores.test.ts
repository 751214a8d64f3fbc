import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { openCommandStores } from "./command-stores.ts";
import { loadConfig } from "./config.ts";
import { openStores } from "./stores.ts";

test("actions of commands are audited as the owner's, from the command line, without secrets", async () => {
  const config = loadConfig({ POSTERN_HOME: join(await makeTempFolder(), "home") });
  const stores = await openCommandStores(config);
  onTestFinished(() => stores.close());
  const anna = await stores.accounts.add({ name: "anna", scopes: ["coding:read"] }, "https://agents.example.org");
  expect(anna.signInLink.url).toMatch(/^https:\/\/agents\.example\.org\/sign-in#/);
  expect((await stores.browsers.createLink(null, "anna")).url).toMatch(/^http:\/\/localhost:7177\/sign-in#/);
  expect(await errorCode(stores.browsers.createLink(null, "bob"))).toBe("account_not_found");
  const wanted = { name: "laptop", scopes: ["coding:read"], expiresAt: null, folders: null } as const;
  const { token, record } = await stores.tokens.create(wanted);
  await stores.tokens.revoke(record.tokenId);
  const client = await stores.clients.add({ name: "app", redirectUris: ["http://localhost/cb"], confidential: true });
  expect(await stores.clients.list()).toHaveLength(1);
  await stores.clients.remove(client.clientId);
  expect(await errorCode(stores.accounts.remove("owner"))).toBe("invalid_request");
  expect(await stores.accounts.remove("anna")).toMatchObject({ accountId: anna.accountId });
  expect(await errorCode(stores.accounts.remove(anna.accountId))).toBe("account_not_found");
  expect(await stores.accounts.list()).toHaveLength(1);

  const inside = await openStores(config, { log: silentLog, clock: systemClock });
  onTestFinished(() => inside.close());
  const { entries } = await inside.accounts.audit.page({ limit: 200 });
  expect(entries.map(({ action, subject }) => [action, subject])).toEqual([
    ["account_removed", anna.accountId],
    ["client_removed", client.clientId],
    ["client_added", client.clientId],
    ["token_revoked", record.tokenId],
    ["token_created", record.tokenId],
    ["sign_in_link_created", anna.accountId],
    ["account_added", anna.accountId],
  ]);
  for (const { account, address, userAgent } of entries) {
    expect({ account, address, userAgent }).toMatchObject({
      account: { name: "owner" },
      address: null,
      userAgent: null,
    });
  }
  const text = JSON.stringify(entries);
  for (const secret of [token, client.clientSecret ?? "?", anna.signInLink.url.split("#")[1] ?? "?"]) {
    expect(text).not.toContain(secret);
  }
});
