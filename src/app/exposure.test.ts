import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type ConfigOverrides, loadConfig } from "./config.ts";
import { exposureOf, refuseReadableNetwork } from "./exposure.ts";

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
  // A proxy in front, whose matter it is; `postern doctor` warns of it.
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
