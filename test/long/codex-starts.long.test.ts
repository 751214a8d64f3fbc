import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { helpersOnPath, nativeCodex } from "../../src/agents/codex/codex-binary.ts";
import { runCommand } from "../../src/platform/run-command.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const starts = Number(process.env["POSTERN_CODEX_STARTS"] ?? 1_000);

/**
 * Two Codex processes start again and again, and each removes the helper programs of others that hold no lock. The starts under test have the
 * lowest priority: about one in a hundred is interrupted before it has locked its own, and loses them.
 */
test.skipIf(process.platform !== "linux")(
  "commands run in the sandbox of every Codex that starts beside others (Linux)",
  async () => {
    const home = await makeTempFolder();
    const native = await nativeCodex(inject("agents").codex);
    const alone = { PATH: process.env["PATH"] ?? "", HOME: home, CODEX_HOME: home };
    const env = { ...alone, ...(await helpersOnPath(native.binary, join(home, "helpers"), alone)) };
    const argv = [native.binary, "sandbox", "-c", 'sandbox_mode="read-only"', "--", "/bin/true"] as const;
    const failures: string[] = [];
    let lost = 0;
    let begun = 0;
    let ended = false;
    const removeOthers = async (): Promise<void> => {
      while (!ended) await runCommand([native.binary, "--version"], { env: alone, timeoutMs: 30_000 });
    };
    const start = async (): Promise<void> => {
      while (begun++ < starts) {
        const { exitCode, stderr } = await runCommand(["nice", "-n", "19", ...argv], { env, timeoutMs: 300_000 });
        if (stderr.includes("could not create PATH aliases")) lost += 1;
        if (exitCode !== 0) failures.push(`${exitCode}: ${stderr}`);
      }
    };
    const others = Promise.all([removeOthers(), removeOthers()]);
    await Promise.all([start(), start(), start(), start()]).finally(() => (ended = true));
    await others;
    console.log(`${lost} of ${starts} starts lost their helper programs`);
    expect(failures).toEqual([]);
  },
  starts * 2_000,
);
