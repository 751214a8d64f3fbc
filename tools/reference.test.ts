import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { configFileSchema } from "../src/app/settings.ts";
import { codeBlocks, documents } from "../test/support/documentation.ts";
import { commandsReference } from "./references/commands.ts";
import { errorsReference } from "./references/errors.ts";
import { settingsReference } from "./references/settings.ts";
import { websocketReference } from "./references/websocket.ts";

const page = (name: string): string => readFileSync(resolve(import.meta.dirname, "../docs/reference", name), "utf8");
const advice = "It is not what the source says: run `node tools/reference.ts`.";

test.for([
  ["settings.md", settingsReference],
  ["errors.md", errorsReference],
  ["commands.md", commandsReference],
  ["websocket.md", websocketReference],
] as const)("docs/reference/%s is what the source says", async ([name, make]) => {
  expect(page(name) === (await make()), advice).toBe(true);
});

test("every setting is explained", () => {
  const rows = page("settings.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  expect(
    rows.filter((row) => /(`[^`]+`), \1/.test(row)),
    "the same value twice",
  ).toEqual([]);
});

test("every configuration in the documentation is valid", () => {
  const keys = new Set(Object.keys(configFileSchema.shape));
  let count = 0;
  for (const { path, text } of documents()) {
    for (const { code, language, line } of codeBlocks(text)) {
      if (language !== "json") continue;
      const shown: unknown = JSON.parse(code);
      if (typeof shown !== "object" || shown === null || !Object.keys(shown).some((key) => keys.has(key))) continue;
      count += 1;
      expect(configFileSchema.safeParse(shown).error?.issues, `${path}:${line}`).toBe(undefined);
    }
  }
  expect(count).toBeGreaterThan(4);
});
