import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { renderHttpReference } from "../../tools/references/http.ts";
import { codeBlocks } from "../support/documentation.ts";
import { useGateway } from "../support/use-gateway.ts";

const root = resolve(import.meta.dirname, "../..");
const used = useGateway({ agents: true });
let token = "";

beforeAll(async () => {
  const { accounts, agents } = used.gateway.app;
  await agents.configureAll([], "claude-code");
  const wanted = {
    name: "client",
    scopes: ["coding:read", "coding:write", "coding:drive"],
    folders: null,
    expiresAt: null,
  } as const;
  ({ token } = await accounts.tokens.create((await accounts.owner()).accountId, wanted));
});

/** Runs a client as its first line says, with input for its questions. */
function run(argv: readonly string[], { typed, as = token }: { readonly typed: string; readonly as?: string }) {
  const [program = "", ...args] = argv;
  const env = { PATH: process.env["PATH"], GATEWAY: used.gateway.url, TOKEN: as };
  const child = spawn(program, args, { cwd: join(root, "examples"), env, timeout: 60_000 });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (stderr.includes("[y/N]") && child.stdin.writable) child.stdin.end(typed);
  });
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((done) => {
    child.on("close", (code) => done({ code, stdout, stderr }));
  });
}

describe.for([
  { file: "client.ts", language: "ts", program: process.execPath },
  { file: "client.py", language: "py", program: "python3" },
  { file: "client.sh", language: "bash", program: "sh" },
])("examples/$file", ({ file, language, program }) => {
  test("asks, lets a person allow what the agent wants, waits, and prints the turns", async () => {
    const name = `by-${language}.txt`;
    const prompt = `write ${name} with by leave`;
    const { code, stdout, stderr } = await run([program, file, used.world.repository, prompt], { typed: "y\n" });
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/The agent wants to use \w+/);
    expect(stdout).toContain(prompt);
    expect(stdout).toContain("RESULT 1 ok");
    expect(existsSync(join(used.world.repository, name))).toBe(true);
  });

  test("says the code of an error, and ends with one", async () => {
    const { code, stderr } = await run([program, file, join(used.world.root, "nowhere"), "hello"], { typed: "" });
    expect(code).not.toBe(0);
    expect(stderr).toContain("dir_not_found: Directory not found");
  });

  test("is short, and the documentation shows it as it is", async () => {
    const text = await readFile(join(root, "examples", file), "utf8");
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(30);
    const page = await readFile(join(root, "docs/clients.md"), "utf8");
    expect(codeBlocks(page)).toContainEqual(expect.objectContaining({ language, code: text.trimEnd() }));
  });
});

test("docs/reference/http.md is what a gateway says of itself", async () => {
  const document: unknown = await (await fetch(`${used.gateway.url}/openapi.json`)).json();
  const page = await readFile(join(root, "docs/reference/http.md"), "utf8");
  expect(page === renderHttpReference(document), "It is not: run `node tools/reference.ts`.").toBe(true);
});
