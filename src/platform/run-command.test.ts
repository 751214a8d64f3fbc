import { expect, test } from "vitest";
import { isAlive, startTimeOf } from "./processes.ts";
import { runCommand } from "./run-command.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a command's output and exit code are returned, and it gets only the given environment", async () => {
  const result = await runCommand(["/bin/sh", "-c", "echo out; echo err >&2; echo [$HOME] $GIVEN; exit 3"], {
    env: { ...env, GIVEN: "given" },
    timeoutMs: 5_000,
  });
  expect(result).toEqual({ exitCode: 3, stdout: "out\n[] given\n", stderr: "err\n" });
});

test("a missing program has no exit code", async () => {
  expect((await runCommand(["/nowhere/program"], { env, timeoutMs: 5_000 })).exitCode).toBeNull();
});

test("a command that takes too long is killed with all its children", async () => {
  const startedAt = Date.now();
  const result = await runCommand(["/bin/sh", "-c", "sleep 60 & echo $!; wait"], { env, timeoutMs: 300 });
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  expect(result.exitCode).toBeNull();
  const child = Number(result.stdout.trim());
  expect(child).toBeGreaterThan(0);
  await expect.poll(() => isAlive(child, startTimeOf(child))).toBe(false);
});

test("output beyond the limit is truncated and the command killed", async () => {
  const result = await runCommand(["/bin/sh", "-c", "while :; do echo 0123456789; done"], {
    env,
    timeoutMs: 20_000,
    maxOutputBytes: 1000,
  });
  expect(result.exitCode).toBeNull();
  expect(result.stdout).toHaveLength(1000);
});
