import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { newSecretBox } from "../../test/support/secret-box.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createClientDocuments } from "./client-metadata.ts";
import { createClientStore } from "./client-store.ts";
import { createEngine, unusedKeys } from "./engine.ts";
import type { ProviderKeys } from "./provider.ts";
import { createRecordStore } from "./record-store.ts";

test("the library is created again with the next request after a failure", async () => {
  const { db } = await openSqliteTestStore();
  const deps = { db, clock: systemClock, log: silentLog, secrets: newSecretBox() };
  const good = unusedKeys();
  let keys: ProviderKeys = { ...good, jwks: { keys: [{ kid: good.kid, kty: "EC" }] } };
  const engine = createEngine({
    ...deps,
    records: createRecordStore({ ...deps, noteAudit: async () => undefined }),
    clients: createClientStore(deps),
    documents: createClientDocuments({ ...deps, enabled: false, fetch: () => Promise.reject(new Error("no network")) }),
    place: () => ({ baseUrl: "http://localhost:1", origins: [] }),
    scopesOf: async () => null,
    config: { accessTokens: "opaque", registration: "on" },
    decide: () => Promise.reject(new Error("nobody decides")),
    keys: async () => keys,
  });
  await expect(engine.provider()).rejects.toThrow();
  keys = good;
  expect((await engine.provider()).issuer).toBe("http://localhost:1");
});
