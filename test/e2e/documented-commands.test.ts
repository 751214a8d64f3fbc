import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandOutcome, type DocumentShell, startDocumentShell } from "../support/document-shell.ts";
import { type Document, type DocumentedCommand, documents, withWords } from "../support/documentation.ts";
import { type Act, acts, liveSession } from "../support/documented-acts.ts";
import { type DocumentedHome, makeDocumentedHome } from "../support/documented-home.ts";

/** Typed into a home in which nothing is yet. */
const beginnings = ["README.md", "docs/start.md"];
/** Ends what runs, so it comes last. */
const endings = ["docs/operations.md"];
const pages = documents().filter(({ commands }) => commands.length > 0);
const used = new Set<Act>();

function actOf(page: Document, text: string): Act | undefined {
  const act = acts.find(({ command, inDocument }) => command.test(text) && (inDocument?.test(page.path) ?? true));
  if (act !== undefined) used.add(act);
  return act;
}

/** Types a whole document into one shell. */
async function typeDocument(page: Document, home: DocumentedHome): Promise<void> {
  const isBeginning = beginnings.includes(page.path);
  if (!isBeginning) await home.requireGateway();
  const variables = isBeginning ? {} : await variablesOf(page, home);
  const shell = startDocumentShell({ cwd: isBeginning ? home.home : home.project, env: { ...home.env, ...variables } });
  const followed: Followed[] = [];
  try {
    for (const command of page.commands) {
      const act = actOf(page, command.text);
      if (act?.notHere !== undefined) checkSyntax(command);
      else followed.push(...(await runOne(command, { act, home, shell })));
    }
    for (const { place, act, seen } of followed) {
      const look = async (): Promise<string> => {
        if (seen() === "") await act?.meanwhile?.(home);
        return seen();
      };
      await expect.poll(look, { message: place, timeout: 30_000, interval: 500 }).not.toBe("");
    }
  } finally {
    await shell.close();
  }
}

/** A command that keeps running next to the others. */
interface Followed {
  readonly place: string;
  readonly act: Act | undefined;
  readonly seen: () => string;
}

/** What documents call so. */
async function variablesOf({ text }: Document, home: DocumentedHome): Promise<Readonly<Record<string, string>>> {
  const token = await home.token();
  const session = text.includes("$ID") ? await liveSession(home) : {};
  return { ID: session["<id>"] ?? "", GATEWAY: "http://localhost:7177", TOKEN: token, token, OWNER_TOKEN: token };
}

async function runOne(
  command: DocumentedCommand,
  { act, home, shell }: { readonly act: Act | undefined; readonly home: DocumentedHome; readonly shell: DocumentShell },
): Promise<readonly Followed[]> {
  const { place } = command;
  const cwd = (await shell.type("pwd")).stdout.trim();
  if (act?.withoutGateway === undefined && /\b(postern|curl)\b/.test(command.text)) await home.requireGateway();
  const words = Object.entries((await act?.given?.(home, cwd)) ?? {});
  const text = words.reduce((filled, [word, value]) => filled.replaceAll(word, value), command.text);
  expect(
    text.replaceAll(/\s#.*/g, ""),
    `${place}: say in documented-acts.ts what stands for the placeholder, or why it cannot be run`,
  ).not.toMatch(/<[a-zA-Z]+>/);
  const { manner, exitCode = 0 } = act ?? {};
  if (manner === "serve") await home.serve(text, cwd);
  else if (manner === "follow") return [{ place, act, ...home.follow(text, cwd) }];
  else if (manner !== undefined) expect(await home.typeInTerminal(text, { ...manner, cwd }), place).toBe(exitCode);
  else checkOutcome(command, await shell.type(text), exitCode);
  return [];
}

function checkOutcome({ place, text, shown }: DocumentedCommand, outcome: CommandOutcome, exitCode: number): void {
  const said = `${outcome.stdout}${outcome.stderr}`;
  expect(outcome.exitCode, `${place}: ${text}\n${said}`).toBe(exitCode);
  // curl exits with 0 when the server reports an error.
  expect(outcome.stdout, `${place}: ${text}`).not.toMatch(/"type":"\/docs\/problems#/);
  for (const part of (shown ?? "").split(/…|\n/)) expect(said, place).toContain(part.trim());
}

function checkSyntax({ place, text }: DocumentedCommand): void {
  const { status, stderr } = spawnSync("sh", ["-n", "-c", withWords(text)], { encoding: "utf8" });
  expect(status, `${place}: ${stderr}`).toBe(0);
}

let home: DocumentedHome;
beforeAll(async () => {
  home = await makeDocumentedHome();
});
afterAll(() => home.close());

const start = pages.find(({ path }) => path === "docs/start.md");
test.runIf(start !== undefined)(
  "docs/start.md, typed line by line into an empty home, does what it says",
  async () => {
    const own = await makeDocumentedHome();
    try {
      if (start !== undefined) await typeDocument(start, own);
    } finally {
      await own.close();
    }
  },
  120_000,
);

// README into an empty home too, and then the others, as somebody would who reads on.
const rank = ({ path }: Document): number => Number(path !== "README.md") + Number(endings.includes(path));
for (const page of pages.filter((each) => each !== start).toSorted((a, b) => rank(a) - rank(b))) {
  test(`${page.path}, typed line by line, does what it says`, () => typeDocument(page, home), 120_000);
}

test("each special way to run a command is for a command in the documents", () => {
  expect(acts.filter((act) => !used.has(act)).map(({ command }) => String(command))).toEqual([]);
});
