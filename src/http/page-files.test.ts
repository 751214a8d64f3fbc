import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pageStyle } from "./page-files.ts";

const tokens = (css: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(css.matchAll(/^\s*(--(?:color|font)-[\w-]+):\s*([^;]+);/gm), ([, name = "", value = ""]) => [
      name,
      value.trim(),
    ]),
  );

test("the pages that the server renders have the colours and fonts of the web application", async () => {
  const web = tokens(await readFile(join(import.meta.dirname, "../../web/styles.css"), "utf8"));
  const own = tokens(pageStyle);
  expect(own.size).toBeGreaterThan(20);
  for (const [name, value] of own) expect(web.get(name), name).toBe(value);
});

test("every colour that is used is defined", () => {
  const own = tokens(pageStyle);
  for (const [, name = ""] of pageStyle.matchAll(/var\((--[\w-]+)\)/g)) expect([...own.keys()]).toContain(name);
});
