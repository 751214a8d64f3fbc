import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { runCommand } from "../../test/support/run-cli.ts";
import { loadConfig } from "../config.ts";
import { refuseReadableNetwork } from "../exposure.ts";

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

test("every way to serve in the documentation of remote access is one, and is refused only where it says so", async () => {
  const text = await readFile(new URL("../../docs/remote-access.md", import.meta.url), "utf8");
  const commands = [...text.matchAll(/^(\$ )?postern (serve .*)$/gm)];
  expect(commands.length).toBeGreaterThan(4);
  for (const [, shown, command = ""] of commands) {
    let code: string | null = null;
    await runCommand(command.split(" "), {
      ports: {
        async startGateway(overrides) {
          code = await errorCode(
            (async () => refuseReadableNetwork(loadConfig({ POSTERN_HOME: "/none" }, overrides)))(),
          );
          throw new Error("It got as far as the gateway.");
        },
      },
    });
    expect(code, command).toBe(shown === undefined ? null : "unsafe_configuration");
  }
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
