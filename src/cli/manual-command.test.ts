import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";

const page = (await runCommand(["manual"])).stdout;
const reader = ["/usr/bin/man", "/usr/local/bin/man"].find((path) => existsSync(path));

test("the manual page has every command with its options and examples, and is not in the help", async () => {
  expect(page).toMatch(/^\.TH POSTERN 1 "" "postern 0\.0\.0\\-test" "Postern"\n\.SH NAME\npostern \\- /);
  const { stdout } = await runCommand(["coding", "ask", "--help"]);
  const section = page.slice(page.indexOf(".SS postern coding ask"));
  const own = section.slice(0, section.indexOf("\n.SS "));
  for (const [, flag = ""] of stdout.matchAll(/^ {2}(--[a-z-]+)/gm)) {
    if (flag !== "--json") expect(own).toContain(flag.replaceAll("-", "\\-"));
  }
  for (const name of ["serve", "stop", "service install", "uninstall"]) {
    expect(page).toContain(`\n.SS postern ${name}`);
  }
  expect((await runCommand(["--help"])).stdout).not.toMatch(/^ +manual/m);
  expect(JSON.parse((await runCommand(["manual", "--json"])).stdout)).toEqual({ page });
});

test.skipIf(reader === undefined)(
  `man shows it without a warning${reader === undefined ? " (skipped: it is not installed)" : ""}`,
  () => {
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8", MANWIDTH: "100", MAN_KEEP_FORMATTING: "" };
    const shown = execFileSync(reader ?? "", ["--warnings=w", "-l", "-"], { input: page, env, stdio: "pipe" });
    expect(shown.toString()).toMatch(/^ {3}postern stop\n {7}stop the gateway; agents keep running/m);
    expect(shown.toString()).toContain("--permission-mode <mode>");
    expect(shown.toString(), "can be copied").toContain(`eval "$(postern completion bash)"`);
    expect(shown.toString()).toContain("~/.local/share/bash-completion");
  },
);
