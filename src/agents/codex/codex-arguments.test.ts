import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { keyProviderArguments, readCodexConfig, tomlString, tomlTable } from "./codex-arguments.ts";

async function argumentsWith(
  options: { readonly config?: string; readonly auth?: string; readonly env?: Record<string, string> } = {},
): Promise<readonly string[]> {
  const home = await makeTempFolder();
  if (options.config !== undefined) await writeFile(join(home, "config.toml"), options.config);
  if (options.auth !== undefined) await writeFile(join(home, "auth.json"), options.auth);
  return keyProviderArguments(home, await readCodexConfig(home), options.env ?? { OPENAI_API_KEY: "sk-secret" });
}

test("a key variable becomes a provider of this launch, without the key itself", async () => {
  const args = await argumentsWith();
  expect(args).toEqual([
    "-c",
    `model_provider="openai-key"`,
    "-c",
    `model_providers.openai-key={name="OpenAI",base_url="https://api.openai.com/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
  ]);
  expect(args.join(" ")).not.toContain("sk-secret");
});

test("another address of the vendor's API is kept, and the second variable works too", async () => {
  const args = await argumentsWith({ env: { CODEX_API_KEY: "x", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" } });
  expect(args[3]).toContain(`base_url="http://127.0.0.1:1/v1",env_key="CODEX_API_KEY"`);
});

test("naming the vendor's provider does not count as choosing one; the address in the file overrides the variable", async () => {
  const config = `model_provider = "openai"\nopenai_base_url = "https://proxy.example/v1"`;
  const args = await argumentsWith({ config, env: { OPENAI_API_KEY: "x", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" } });
  expect(args[3]).toContain(`base_url="https://proxy.example/v1",env_key="OPENAI_API_KEY"`);
});

test.each([
  ["no key is set", { env: {} }],
  ["the key is empty", { env: { OPENAI_API_KEY: "" } }],
  ["a login exists", { auth: "{}" }],
  ["a provider is chosen", { config: `model_provider = "mine"` }],
  ["a profile is chosen", { config: `profile = "work"` }],
  ["the login is in the keyring", { config: `cli_auth_credentials_store = "keyring"` }],
  ["the configuration cannot be read", { config: "= broken" }],
])("nothing is added when %s", async (_title, options) => {
  expect(await argumentsWith(options)).toEqual([]);
});

test("the user's own instructions are read", async () => {
  const home = await makeTempFolder();
  expect(await readCodexConfig(home)).toMatchObject({ choosesProvider: false, developerInstructions: null });
  await writeFile(
    join(home, "config.toml"),
    `developer_instructions = "be brief"\ncli_auth_credentials_store = "file"`,
  );
  expect(await readCodexConfig(home)).toMatchObject({ choosesProvider: false, developerInstructions: "be brief" });
});

test("any text survives as a TOML string", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(parse(`value=${tomlString(text)}`)["value"]).toBe(text.toWellFormed());
    }),
  );
  for (const text of ["\u007f", "\u0000\b\t\n\f\r\u001b", '"""', "'''", "\\u0041", "\ud800", "🦊 \u2028"]) {
    expect(parse(`value=${tomlString(text)}`)["value"]).toBe(text.toWellFormed());
  }
});

test("any text survives as the key of a TOML table", () => {
  const table = tomlTable([
    ['/a b/"c"=.x', `{level="one"}`],
    ["/ü", "2"],
  ]);
  expect(parse(`value=${table}`)["value"]).toEqual({ '/a b/"c"=.x': { level: "one" }, "/ü": 2 });
});
