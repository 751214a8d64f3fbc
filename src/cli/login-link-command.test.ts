import { encode } from "uqr";
import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { onlyPorts, runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { PosternError } from "../core/errors.ts";
import type { CliStores, RunningGateway } from "./ports.ts";
import { greeting, stopGateway } from "./serve-command.ts";

const clock = createFakeClock();
const expiresAt = new Date(clock.now() + 10 * 60_000).toISOString();
const record = {
  browserSessionId: "b1",
  userAgent: "Fire\u001b]0;owned\u0007fox",
  createdAt: "2025-01-01T00:00:00.000Z",
  lastUsedAt: "2025-01-02T00:00:00.000Z",
  expiresAt: "2025-02-01T00:00:00.000Z",
};

async function run(argv: readonly string[], records = [record]) {
  const unused = (): never => {
    throw new Error("This command should not need that.");
  };
  const stores: CliStores = {
    folders: { add: unused, list: unused, remove: unused },
    profiles: { read: unused, change: unused, proposals: unused, approve: unused },
    tokens: { create: unused, list: unused, revoke: unused },
    accounts: { add: unused, list: unused, remove: unused },
    clients: { add: unused, list: unused, remove: unused },
    agents: {
      list: unused,
      known: unused,
      locate: unused,
      versionNotice: unused,
      installEnvironment: unused,
      logIn: unused,
      configure: unused,
    },
    browsers: {
      createLink: async (baseUrl, account) => ({
        url: `${baseUrl ?? "http://configured"}/sign-in#secret${account === null ? "" : `-of-${account}`}`,
        expiresAt,
      }),
      list: async () => records,
      async revoke(browserSessionId) {
        if (browserSessionId !== "b1") throw new PosternError("browser_session_not_found", "There is none.");
      },
    },
    close: async () => undefined,
  };
  const folder = await makeTempFolder();
  const ports = onlyPorts({ openStores: async () => stores, socketPath: async () => `${folder}/none.sock` });
  return runCommand(argv, { ports, clock });
}

describe("postern login-link", () => {
  test("prints the link alone on standard output, and its lifetime on standard error", async () => {
    expect(await run(["login-link"])).toEqual({
      code: 0,
      stdout: "http://configured/sign-in#secret\n",
      stderr:
        "Signs in one browser as you. Single use, expires in 10 minutes.\nNo gateway is running. Start one with `postern serve`.\n",
    });
    const { stdout, stderr } = await run(["login-link", "--json"]);
    expect([JSON.parse(stdout), stderr]).toEqual([{ url: "http://configured/sign-in#secret", expiresAt }, ""]);
  });

  test("is for another account with --account", async () => {
    expect(await run(["login-link", "--account", "anna"])).toEqual({
      code: 0,
      stdout: "http://configured/sign-in#secret-of-anna\n",
      stderr:
        "Signs in one browser as anna. Single use, expires in 10 minutes.\nNo gateway is running. Start one with `postern serve`.\n",
    });
  });

  test("uses the address of --base-url, if it is valid", async () => {
    const { stdout } = await run(["login-link", "--base-url", "https://agents.example.org"]);
    expect(stdout).toBe("https://agents.example.org/sign-in#secret\n");
    for (const odd of ["agents.example.org", "ftp://agents.example.org", "javascript:alert(1)", ""]) {
      expect(await run(["login-link", "--base-url", odd])).toMatchObject({ code: 2, stdout: "" });
    }
  });
});

describe("postern browser", () => {
  test("lists signed-in browsers; what a browser reports about itself is plain text", async () => {
    const { stdout } = await run(["browser", "list"]);
    expect(stdout).toContain("b1");
    expect(stdout).toContain("2025-01-02T00:00:00.000Z");
    expect(stdout).toMatch(/^[\n\x20-\x7e]*$/);
    expect(JSON.parse((await run(["browser", "list", "--json"])).stdout)).toEqual({ browserSessions: [record] });
    expect(await run(["browser", "list"], [])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("postern login-link"),
    });
  });

  test("signs one out, and reports an unknown id", async () => {
    expect(await run(["browser", "revoke", "b1"])).toMatchObject({ code: 0, stdout: "Signed out b1.\n" });
    expect(JSON.parse((await run(["browser", "revoke", "b1", "--json"])).stdout)).toEqual({ revoked: "b1" });
    const missing = await run(["browser", "revoke", "b2"]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^postern: browser_session_not_found: /) });
  });
});

describe("postern serve", () => {
  const url = "http://localhost:7177/sign-in#secret";
  const inTerminal = { interactive: true, columns: 80, clock } as const;
  const gateway = (authRequired: boolean, isReachableFromOutside = false): RunningGateway => ({
    addresses: ["http://127.0.0.1:7177"],
    baseUrl: "http://localhost:7177",
    isReachableFromOutside,
    authRequired,
    async createSignInLink() {
      if (!authRequired) throw new Error("No link is needed.");
      return { url, expiresAt };
    },
    close: async () => undefined,
    endTerminals: async () => undefined,
  });

  test("prints a sign-in link and its lifetime in a terminal, and never writes one to a log", async () => {
    const shown = await greeting(gateway(true), { json: false, context: inTerminal });
    expect(shown.split("\n").slice(-5)).toEqual([
      "╭──────────────────────────────────────────────╮",
      "│ Sign in (single use, expires in 10 minutes): │",
      `│ ${url}         │`,
      "╰──────────────────────────────────────────────╯",
      "",
    ]);
    expect(shown, "a phone cannot reach localhost").not.toContain("█");
    const logged = await greeting(gateway(true), { json: false, context: { ...inTerminal, interactive: false } });
    expect(logged).not.toContain("secret");
    expect(logged).toContain("postern login-link");
  });

  test("prints a QR code above the link where a phone can reach the gateway, if the terminal has room", async () => {
    const lines = async (columns: number | null) =>
      (await greeting(gateway(true, true), { json: false, context: { ...inTerminal, columns } })).trimEnd().split("\n");
    const wide = await lines(120);
    const start = wide.indexOf("To sign in on a phone, scan:") + 1;
    const code = wide.slice(start, wide.indexOf("", start));
    expect(scanned(code)).toEqual(encode(url, { border: 2 }).data.map((row) => row.map(Boolean)));
    expect(wide.at(-2)).toContain(url);
    const narrow = await lines(20);
    expect(narrow.join("")).not.toContain("█");
    expect(narrow.slice(-2)).toEqual([url, "─".repeat(20)]);
  });

  /** The dark modules of half blocks, whose foreground is light. */
  function scanned(rows: readonly string[]): readonly (readonly boolean[])[] {
    const halves = rows.flatMap((row) => [
      Array.from(row, (block) => !"█▀".includes(block)),
      Array.from(row, (block) => !"█▄".includes(block)),
    ]);
    return halves.slice(0, halves[0]?.length);
  }

  test("prints it in JSON too, and none while authentication is off", async () => {
    const json = async (authRequired: boolean): Promise<unknown> =>
      JSON.parse(await greeting(gateway(authRequired), { json: true, context: { ...inTerminal, interactive: false } }));
    expect(await json(true)).toMatchObject({ baseUrl: "http://localhost:7177", signIn: { url, expiresAt } });
    expect(await json(false)).toMatchObject({ signIn: null });
    const open = await greeting(gateway(false), { json: false, context: inTerminal });
    expect(open).toContain("POSTERN_AUTH=none");
  });

  test("ends agents only with --end-agents, also when the gateway does not stop", async () => {
    const ended: string[] = [];
    const stopping = (name: string, close: () => Promise<void>) => ({
      close,
      endTerminals: async () => void ended.push(name),
    });
    const stops = async (): Promise<void> => undefined;
    const fails = async (): Promise<void> => {
      throw new Error("It does not stop.");
    };
    await stopGateway(stopping("left alone", stops), { endAgents: false });
    await stopGateway(stopping("ended", stops), { endAgents: true });
    await expect(stopGateway(stopping("cut off", fails), { endAgents: true })).rejects.toThrow("does not stop");
    expect(ended).toEqual(["ended", "cut off"]);
  });
});
