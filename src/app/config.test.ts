import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { browserAddress, type ConfigOverrides, exposureOf, loadConfig, refuseReadableNetwork } from "./config.ts";

test.each([
  ['{\n  "port": 7177,\n  "auth" "on"\n}\n', 3],
  ["nonsense", 1],
  ['{\n  "port": 7177', 2],
  ['{\n  "port": 71\n  77\n}', 3],
])("a syntax error in %j is in line %i", async (text, line) => {
  const home = await makeTempFolder();
  await writeFile(join(home, "config.json"), text);
  expect(() => loadConfig({ POSTERN_HOME: home })).toThrow(`config.json, line ${line}: `);
});

test("the address for browsers is one at which the gateway listens, or the base URL", async () => {
  const env = { POSTERN_HOME: await makeTempFolder() };
  const address = (overrides: Parameters<typeof loadConfig>[1]) => browserAddress(loadConfig(env, overrides));
  expect(address({})).toBe("http://localhost:7177");
  expect(address({ port: 80 })).toBe("http://localhost");
  for (const host of ["127.0.0.1", "::1", "0.0.0.0", "::", "localhost"]) {
    expect(address({ host, port: 8080 }), host).toBe("http://localhost:8080");
  }
  expect(address({ host: "127.0.0.2" })).toBe("http://127.0.0.2:7177");
  expect(address({ host: "fd00::1" })).toBe("http://[fd00::1]:7177");
  expect(address({ host: "fd00::1", baseUrl: "https://agents.example.org/" })).toBe("https://agents.example.org");
});

const https = "https://agents.example.org";

test.each<[ConfigOverrides, ReturnType<typeof exposureOf>["exposure"], "refused" | "listens"]>([
  [{}, "this_machine", "listens"],
  [{ host: "127.0.0.1" }, "this_machine", "listens"],
  [{ host: "127.0.0.2" }, "this_machine", "listens"],
  [{ host: "::1", baseUrl: "http://localhost:8080" }, "this_machine", "listens"],
  [{ baseUrl: https }, "https", "listens"],
  [{ host: "0.0.0.0", baseUrl: https }, "https", "listens"],
  [{ host: "0.0.0.0" }, "plain_http", "refused"],
  [{ host: "::" }, "plain_http", "refused"],
  [{ host: "192.0.2.7" }, "plain_http", "refused"],
  [{ host: "127.0.0.1.example.org" }, "plain_http", "refused"],
  [{ host: "0.0.0.0", baseUrl: "http://localhost:7177" }, "plain_http", "refused"],
  [{ host: "0.0.0.0", baseUrl: "http://agents.example.org" }, "plain_http", "refused"],
  [{ host: "0.0.0.0", insecureHttp: true }, "plain_http", "listens"],
  // A proxy in front is responsible for it; `postern doctor` warns about it.
  [{ baseUrl: "http://agents.example.org" }, "plain_http", "listens"],
])("%j is %s: %s", async (overrides, exposure, outcome) => {
  const config = loadConfig({ POSTERN_HOME: await makeTempFolder() }, overrides);
  expect(exposureOf(config).exposure).toBe(exposure);
  const code = await errorCode(Promise.resolve().then(() => refuseReadableNetwork(config)));
  expect(code).toBe(outcome === "refused" ? "unsafe_configuration" : null);
});

test("the variable allows it as the flag does", async () => {
  const env = { POSTERN_HOME: await makeTempFolder(), POSTERN_HOST: "0.0.0.0" };
  expect(() => refuseReadableNetwork(loadConfig(env))).toThrow(/0\.0\.0\.0.*--base-url https.*--insecure-http/);
  refuseReadableNetwork(loadConfig({ ...env, POSTERN_INSECURE_HTTP: "1" }));
});

test.each<[string, number | null]>([
  ["12h", 12 * 3_600_000],
  ["90m", 90 * 60_000],
  ["2d", 2 * 86_400_000],
  ["45s", 45_000],
  ["0", null],
  ["off", null],
])("an idle time-out of %s is %s ms", async (text, idleTimeout) => {
  const env = { POSTERN_HOME: await makeTempFolder(), POSTERN_IDLE_TIMEOUT: text };
  expect(loadConfig(env).idleTimeout).toBe(idleTimeout);
});

test("the idle time-out is 12 hours by default, can be 0 in the file, and is refused without a unit", async () => {
  const home = await makeTempFolder();
  expect(loadConfig({ POSTERN_HOME: home }).idleTimeout).toBe(12 * 3_600_000);
  expect(() => loadConfig({ POSTERN_HOME: home, POSTERN_IDLE_TIMEOUT: "12" })).toThrow(/"idleTimeout".*such as 12h/);
  await writeFile(join(home, "config.json"), '{ "idleTimeout": 0 }');
  expect(loadConfig({ POSTERN_HOME: home }).idleTimeout).toBe(null);
});
