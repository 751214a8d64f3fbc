import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";

test("the way to add a client is as the documentation for apps says", async () => {
  const text = await readFile(new URL("../../docs/oauth.md", import.meta.url), "utf8");
  const [, line = ""] = /`postern (client add [^`]+)`/.exec(text) ?? [];
  const argv = line.replace("<name>", "name").replaceAll(/[[\]]/g, "").split(" ");
  let opened = false;
  const openStores = (): Promise<never> => {
    opened = true;
    return Promise.reject(new Error("It got as far as the store."));
  };
  const { code } = await runCommand(argv, { ports: { openStores } });
  expect(code).not.toBe(2);
  expect(opened).toBe(true);
});
