import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isAbout } from "./screen-dialog.ts";
import { builtInTemplates } from "./templates.ts";

const folder = join(import.meta.dirname, "../../test/fixtures/dialogs");
const fixtureSchema = z.object({
  agent: z.string(),
  version: z.string(),
  dialogs: z.array(z.object({ name: z.string(), lines: z.array(z.string()) })),
});
const fixtures = readdirSync(folder).map((name) =>
  fixtureSchema.parse(JSON.parse(readFileSync(join(folder, name), "utf8"))),
);

/** The first words of some choices of each dialog, and their decision; null is the composer. */
const expected: Readonly<Record<string, Readonly<Record<string, string>> | null>> = {
  composer: null,
  "not-logged-in": null,
  "no-provider": null,
  "claude-code trust": { title: "Trust this folder?", yes: "Yes, I trust", no: "No, exit" },
  "claude-code settings-error": { title: "Settings error", fix: "Fix with", without: "Continue without" },
  "claude-code project-settings-error": { title: "Settings error", fix: "Fix with", without: "Continue without" },
  "claude-code external-imports": {
    title: "Allow imports from outside the folder?",
    yes: "Yes, allow",
    no: "No, disable",
  },
  "claude-code api-key": { title: "Use the API key of the environment?", yes: "Yes", no: "No (recommended)" },
  "claude-code bypass-warning": { title: "Run without asking for permission?", yes: "Yes, I accept", no: "No, exit" },
  "claude-code mcp-server": { title: "Use the project's MCP servers?", yes: "Use this MCP", no: "Continue without" },
  "claude-code permission-command": { title: "Permission", allow: "Yes", deny: "No" },
  "claude-code permission-write": { title: "Permission", allow: "Yes", deny: "No" },
  "codex trust": { title: "Trust this folder?", yes: "Trust and continue" },
  "codex login": { title: "Log in", chatgpt: "Sign in with ChatGPT", code: "Sign in with Device Code" },
  "codex hooks-review": { title: "Review hooks?", all: "Trust all", none: "Continue without" },
  "codex permission-command": { title: "Permission", allow: "Yes, proceed (y)", deny: "No, and tell" },
  "codex permission-write": { title: "Permission", allow: "Yes, proceed (y)", deny: "No, and tell" },
  "gemini-cli trust": { title: "Trust this folder?", yes: "Trust folder", no: "Don't trust" },
  "gemini-cli login": { title: "Log in", google: "Sign in with Google", key: "Use Gemini API Key" },
};

test("each built-in agent is recorded at three versions", () => {
  for (const { name } of builtInTemplates) {
    expect(new Set(fixtures.filter(({ agent }) => agent === name).map(({ version }) => version)).size, name).toBe(3);
  }
});

describe.for(fixtures)("$agent $version", ({ agent, dialogs }) => {
  const template = builtInTemplates.find(({ name }) => name === agent);
  test.for(dialogs)("$name", ({ name, lines }) => {
    const key = name in expected ? name : `${agent} ${name}`;
    const known = expected[key];
    if (template === undefined || known === undefined) throw new Error(`${key} is not expected.`);
    expect(template.composerPainted(lines)).toBe(known === null);
    const dialog = template.readDialog?.(lines) ?? null;
    if (known === null) return expect(dialog).toBeNull();
    const { title, ...choices } = known;
    expect(dialog).toMatchObject({ title });
    for (const [decides, label] of Object.entries(choices)) {
      const choice = dialog?.choices.find((offered) => offered.label.startsWith(label));
      expect(choice, label).toBeDefined();
      expect(choice?.decides).toBe(name.startsWith("permission") ? decides : undefined);
    }
    if (!name.startsWith("permission") || dialog === null) return;
    // One choice allows and one denies; the others allow more than this request.
    expect(dialog.choices.flatMap(({ decides }) => decides ?? [])).toEqual(["allow", "deny"]);
    const [mine, other] =
      name === "permission-command"
        ? [{ command: "rm -rf build" }, { command: "rm -rf /" }]
        : [{ file_path: "/somewhere/notes.txt" }, { file_path: "/somewhere/secrets.txt" }];
    expect([isAbout(dialog, mine), isAbout(dialog, other)]).toEqual([true, false]);
  });

  test.for(dialogs)("$name moves its selection, and stays the same dialog", ({ lines }) => {
    const dialog = template?.readDialog?.(lines) ?? null;
    if (dialog === null) return;
    expect(dialog.choices[dialog.selected]).toBeDefined();
    expect(dialog.text).toContain(dialog.choices.at(-1)?.label.slice(0, 20));
    expect(dialog.text).not.toMatch(/^\s*[❯›●>] /m);
  });
});
