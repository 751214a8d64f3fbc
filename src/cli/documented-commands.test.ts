import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { codeBlocks, documents, withWords } from "../../test/support/documentation.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { runCommand } from "../../test/support/run-cli.ts";
import { loadConfig, refuseReadableNetwork } from "../app/config.ts";

const pages = documents();

interface Call {
  /** The text in the document. */
  readonly text: string;
  readonly argv: readonly string[];
}

/** The words of each `postern …` in these lines, split by one shell, which also removes quotes and comments. */
function callsOf(lines: readonly string[]): readonly Call[] {
  const show = 'postern() { printf "%s\\037" "$each" "$@" >&3; echo >&3; }';
  const each = lines.map((line, index) => `each=${index}; ( PATH=; ${withWords(line)}\n)`);
  const { output } = spawnSync("sh", ["-c", [show, ...each].join("\n")], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  return (output[3] ?? "").split("\n").flatMap((shown) => {
    const [index = "", ...argv] = shown.split("\u001f").slice(0, -1);
    return index === "" ? [] : [{ text: lines[Number(index)] ?? "", argv }];
  });
}

/** Runs a command up to its first external call. */
async function parse(argv: readonly string[]): Promise<{ readonly understood: boolean; readonly said: string }> {
  const { code, stdout, stderr } = await runCommand(argv, { interactive: true });
  return { understood: code !== 2, said: `${stdout}${stderr}` };
}

test("every postern command in the documentation exists, with its options", async () => {
  const seen = new Set<string>();
  for (const { path, commands, mentioned } of pages) {
    const lines = [...commands.map(({ text }) => text), ...mentioned.flatMap(alternatives)];
    for (const { text, argv } of callsOf(lines.filter((line) => line.includes("postern")))) {
      if (seen.has(argv.join("\0"))) continue;
      seen.add(argv.join("\0"));
      const { understood, said } = await parse(argv);
      // Prose can mention a command by its bare name.
      const isName =
        argv.every((word) => /^[a-z-]+$/.test(word)) &&
        (await usage(argv)).startsWith(`Usage: postern ${argv.join(" ")} `);
      expect(understood || isName, `${path}: ${text}\n${said}`).toBe(true);
    }
  }
  expect(seen.size).toBeGreaterThan(60);
});

async function usage(argv: readonly string[]): Promise<string> {
  return (await runCommand([...argv, "--help"], { ports: {} })).stdout.split("\n", 1)[0] ?? "";
}

/** `a|b` stands for two commands, `[--option]` for an optional option. */
function alternatives(mentioned: string): readonly string[] {
  const [, start = "", choice, rest = ""] = /^(postern(?: [a-z-]+)*) ([a-z]+(?:\|[a-z]+)+)(.*)$/.exec(mentioned) ?? [];
  const ways = choice === undefined ? [mentioned] : choice.split("|").map((word) => `${start} ${word}${rest}`);
  return ways.flatMap((way) =>
    way.includes("[") ? [way.replaceAll(/[[\]]/g, ""), way.replaceAll(/\[[^\]]*\]/g, "")] : [way],
  );
}

test("commands to type are in blocks that are run: `sh`, or `console` with its output", () => {
  for (const { path, text } of pages) {
    for (const { code, language, line } of codeBlocks(text)) {
      if (language === "sh" || language === "console") continue;
      const typed = /^(\$ )?(\w+=\S* )?(postern|curl|npm|npx|claude|codex|docker|ssh) .*$/m.exec(code)?.[0];
      expect(typed, `${path}:${line} is a command in a block "${language}"`).toBe(undefined);
    }
  }
});

test("every way to serve in the remote access documentation is refused only where documented", async () => {
  const commands = pages.find(({ path }) => path === "docs/remote-access.md")?.commands ?? [];
  const ways = commands.filter(({ text }) => text.startsWith("postern serve "));
  expect(ways.length).toBeGreaterThan(4);
  const listening = (): number => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");
  const before = listening();
  for (const { text, shown } of ways) {
    let code: string | null = null;
    await runCommand(text.split(" ").slice(1), {
      ports: {
        async startGateway(overrides) {
          code = await errorCode(
            (async () => refuseReadableNetwork(loadConfig({ POSTERN_HOME: "/none" }, overrides)))(),
          );
          throw new Error("It got as far as the gateway.");
        },
      },
    });
    expect(code, text).toBe(shown === null ? null : "unsafe_configuration");
  }
  expect(listening(), "a failed start removes its signal listeners").toBe(before);
});
