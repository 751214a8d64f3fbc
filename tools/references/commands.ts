import { exitCodeWords } from "../../src/cli/options.ts";
import { runCommand } from "../../test/support/run-cli.ts";
import { generatedHead, table } from "./markdown.ts";

const lead =
  "Every command with its options and examples, as `--help` prints it. All commands take `--json`. See also [exit and error codes](../exit-codes.md).";

const ends = `## Exit codes

${table(
  ["code", ""],
  exitCodeWords.map(({ code, long }) => [String(code), long]),
)}

\`postern attach\` exits with the agent's own exit code when the agent ends.
`;

/** `docs/reference/commands.md`. */
export async function commandsReference(): Promise<string> {
  const pages = await helpOf([]);
  const sections = pages.map(
    ({ argv, help }) => `## \`postern${argv.map((word) => ` ${word}`).join("")}\`\n\n\`\`\`text\n${help}\n\`\`\`\n`,
  );
  return `${generatedHead("Commands", lead)}\n${ends}\n${sections.join("\n")}`;
}

interface HelpPage {
  readonly argv: readonly string[];
  readonly help: string;
}

/** The command's help, followed by that of its subcommands. */
async function helpOf(argv: readonly string[]): Promise<readonly HelpPage[]> {
  const { stdout } = await runCommand([...argv, "--help"]);
  const listed = [...stdout.matchAll(/^Commands.*:\n((?: .*\n)+)/gm)].map(([, lines = ""]) => lines);
  const names = [...listed.join("").matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name = ""]) =>
    name === "help" ? [] : [name],
  );
  const inner: HelpPage[] = [];
  for (const name of names) inner.push(...(await helpOf([...argv, name])));
  return [{ argv, help: stdout.trimEnd() }, ...inner];
}
