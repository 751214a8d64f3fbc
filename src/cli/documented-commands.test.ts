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

test("every command of the memory's documentation is one, with options that it has", async () => {
  const text = await readFile(new URL("../../docs/memory.md", import.meta.url), "utf8");
  const commands = [...text.matchAll(/`(?:\$ )?postern ([a-z][^`\n]*)`|^(?:id=\$\()?postern ([a-z][^\n]*?)\)?$/gm)];
  expect(commands.length).toBeGreaterThan(8);
  for (const [, inline, line = ""] of commands) {
    const command = inline ?? line;
    const argv = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = ""]) => quoted ?? plain);
    let reached = false;
    const socketPath = (): Promise<never> => {
      reached = true;
      return Promise.reject(new Error("It got as far as the gateway."));
    };
    // It asks before it deletes, where somebody is there.
    const { code } = await runCommand(argv, { ports: { socketPath }, interactive: true });
    expect([code, reached], command).toEqual([1, true]);
  }
});
