import type { Command } from "commander";
import { exitCodes } from "./exit-code.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

const signs = { ok: "ok     ", warning: "warning", failure: "failure" } as const;

/** `postern doctor`: looks at everything that Postern needs, and says what mends it. Ends with 1 when something fails. */
export function addDoctorCommand(program: Command, context: CliContext, onExit: (code: number) => void): void {
  describe(
    program.command("doctor"),
    ["postern doctor", "postern doctor --smoke", "postern doctor --json"],
    "a failure was found",
  )
    .description("look at agents, git, store, terminal host, ports and permissions; changes nothing")
    .option("--smoke", "also start each configured agent once, without a prompt")
    .action(async (options: CommonOptions & { readonly smoke?: true }) => {
      const findings = await context.ports.diagnose({ smoke: options.smoke === true });
      const failures = findings.filter(({ level }) => level === "failure").length;
      onExit(failures === 0 ? exitCodes.ok : exitCodes.error);
      if (options.json) return context.stdout(`${printableJson({ ok: failures === 0, findings })}\n`);
      const lines = findings.flatMap(({ check, level, message, fix }) => {
        const line = `${signs[level]}  ${plainLine(check)}: ${plainLine(message)}`;
        return fix === null ? [line] : [line, `         mend it with: ${plainLine(fix)}`];
      });
      const warnings = findings.filter(({ level }) => level === "warning").length;
      const sum =
        failures + warnings === 0 ? "All is well." : `${count(failures, "failure")}, ${count(warnings, "warning")}.`;
      context.stdout(`${[...lines, "", sum].join("\n")}\n`);
    });
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
