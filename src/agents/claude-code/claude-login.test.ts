import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { loginState } from "./claude-login.ts";

const key = `sk-ant-${"x".repeat(40)}-the-last-20-of-it-A`;

/** The state of a home without a login, with this `.claude.json`. */
async function stateWith(config: string | null, env: Readonly<Record<string, string>>) {
  const home = await makeTempFolder();
  const binary = join(home, "claude");
  await writeFile(binary, `#!/bin/sh\necho '{"loggedIn":false}'; exit 1\n`, { mode: 0o755 });
  if (config !== null) await writeFile(join(home, ".claude.json"), config);
  return loginState(binary, { HOME: home, PATH: "/usr/bin:/bin", ...env });
}

const said = (answer: "approved" | "rejected"): string =>
  JSON.stringify({ customApiKeyResponses: { [answer]: [key.slice(-20)] } });

test("a key replaces the login, unless the user rejected it", async () => {
  expect(await stateWith(null, { ANTHROPIC_API_KEY: key })).toBe("key_variable");
  expect(await stateWith(said("approved"), { ANTHROPIC_API_KEY: key })).toBe("key_variable");
  expect(await stateWith("not readable", { ANTHROPIC_API_KEY: key })).toBe("key_variable");
  expect(await stateWith(said("rejected"), { ANTHROPIC_API_KEY: key })).toBe("logged_out");
  expect(await stateWith(said("rejected"), { ANTHROPIC_API_KEY: key, ANTHROPIC_AUTH_TOKEN: "t" })).toBe("key_variable");
  expect(await stateWith(said("rejected"), { ANTHROPIC_API_KEY: `${key}2` })).toBe("key_variable");
  expect(await stateWith(null, {})).toBe("logged_out");
});
