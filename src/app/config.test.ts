import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { browserAddress, loadConfig } from "./config.ts";

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
