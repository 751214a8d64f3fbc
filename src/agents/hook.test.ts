import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

const script = fileURLToPath(new URL("./hook.mjs", import.meta.url));

/** Runs the hook as an agent does. It must always exit with 0 and print nothing. */
async function report(inbox: string | null, input: string | Buffer): Promise<void> {
  const child = spawn(process.execPath, [script], {
    env: inbox === null ? {} : { POSTERN_SESSION_INBOX: inbox },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
  child.stdin.on("error", () => undefined); // it may stop reading
  child.stdin.end(input);
  const [exitCode] = await once(child, "close");
  expect(Buffer.concat(output).toString()).toBe("");
  expect(exitCode).toBe(0);
}

async function linesOf(inbox: string): Promise<readonly unknown[]> {
  const text = await readFile(inbox, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("a payload becomes one line with the time, readable only by its owner", async () => {
  const inbox = join(await makeTempFolder(), "inbox");
  const payload = { hook_event_name: "Stop", session_id: "x", last_assistant_message: "line\nbreak 🦊" };
  const before = Date.now();
  await report(inbox, JSON.stringify(payload));
  expect(await linesOf(inbox)).toEqual([{ at: expect.any(Number), payload }]);
  const [line] = await linesOf(inbox);
  expect(line).toHaveProperty(
    "at",
    expect.toSatisfy((at: number) => at >= before && at <= Date.now()),
  );
  expect((await stat(inbox)).mode & 0o777).toBe(0o600);
});

test("20 concurrent hooks write 20 whole lines", async () => {
  const inbox = join(await makeTempFolder(), "inbox");
  const text = "long ".repeat(3000);
  await Promise.all(Array.from({ length: 20 }, (_, number) => report(inbox, JSON.stringify({ number, text }))));
  const lines = await linesOf(inbox);
  expect(lines).toHaveLength(20);
  expect(new Set(lines.map((line) => JSON.stringify(line).replace(/"at":\d+,/, ""))).size).toBe(20);
}, 60_000);

test("strings over 16 KiB are cut wherever they are, and never inside a character", async () => {
  const inbox = join(await makeTempFolder(), "inbox");
  const long = `${"x".repeat(16 * 1024 - 1)}🦊${"y".repeat(100_000)}`;
  await report(inbox, JSON.stringify({ tool_input: { content: [long, "short"] } }));
  const [line] = await linesOf(inbox);
  expect(line).toMatchObject({ payload: { tool_input: { content: [`${"x".repeat(16 * 1024 - 1)}\ufffd`, "short"] } } });
});

test("an invalid or too long payload, or one without an inbox, is dropped silently", async () => {
  const folder = await makeTempFolder();
  const inbox = join(folder, "inbox");
  await report(inbox, "no json");
  await report(inbox, "");
  await report(inbox, `"${"x".repeat(5 * 1024 * 1024)}"`);
  await report(join(folder, "missing", "inbox"), "{}");
  await report(null, "{}");
  await expect(stat(inbox)).rejects.toThrow("ENOENT");
});

test("a symbolic link in place of the inbox is not followed", async () => {
  const folder = await makeTempFolder();
  await writeFile(join(folder, "other"), "");
  await symlink(join(folder, "other"), join(folder, "inbox"));
  await report(join(folder, "inbox"), "{}");
  expect(await readFile(join(folder, "other"), "utf8")).toBe("");
});

test("a full inbox accepts only what a session's state needs", async () => {
  const inbox = join(await makeTempFolder(), "inbox");
  await writeFile(inbox, "");
  await truncate(inbox, 64 * 1024 * 1024 + 1);
  const { size } = await stat(inbox);
  await report(inbox, JSON.stringify({ hook_event_name: "PostToolUse" }));
  expect((await stat(inbox)).size).toBe(size);
  await report(inbox, JSON.stringify({ hook_event_name: "Stop" }));
  expect((await stat(inbox)).size).toBeGreaterThan(size);
  await truncate(inbox, 128 * 1024 * 1024 + 1);
  await report(inbox, JSON.stringify({ hook_event_name: "Stop" }));
  expect((await stat(inbox)).size).toBe(128 * 1024 * 1024 + 1);
});
