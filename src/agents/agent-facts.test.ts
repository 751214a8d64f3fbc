import { chmod, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { createAgentFacts } from "./agent-facts.ts";
import { codex } from "./codex/codex.ts";

test("an unknown version is determined again later; a known one is not", async () => {
  const clock = createFakeClock();
  const facts = createAgentFacts(clock);
  const folder = await makeTempFolder();
  const binary = join(folder, "agent");
  await writeFile(binary, `#!/bin/sh\nread answer <"$0.answer" && echo "agent $answer"\n`);
  await chmod(binary, 0o755);
  const version = () => facts.version(codex, binary, { PATH: "/usr/bin:/bin" });
  expect(await version()).toBeNull();
  await writeFile(`${binary}.answer`, "1.2.3\n");
  expect(await version()).toBeNull();
  await clock.advance(30_000);
  expect(await version(), "a second call does not wait").toBeNull();
  await expect.poll(version).toBe("1.2.3");
  await writeFile(`${binary}.answer`, "1.2.4\n");
  await clock.advance(3_600_000);
  expect(await version()).toBe("1.2.3");
});

test("a program that was replaced by one of the same size and time is asked again", async () => {
  const facts = createAgentFacts(createFakeClock());
  const binary = join(await makeTempFolder(), "agent");
  // npm gives all files this time.
  const packed = new Date("1985-10-26T08:15:00Z");
  for (const version of ["1.2.3", "1.2.4"]) {
    await writeFile(`${binary}.new`, `#!/bin/sh\necho "agent ${version}"\n`);
    await chmod(`${binary}.new`, 0o755);
    await utimes(`${binary}.new`, packed, packed);
    await rename(`${binary}.new`, binary);
    expect(await facts.version(codex, binary, { PATH: "/usr/bin:/bin" })).toBe(version);
  }
});
