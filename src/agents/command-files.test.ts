import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { frontMatter, type ReadsFolder } from "./command-files.ts";
import { createTemplates } from "./templates.ts";

/** A home and a repository with these files. */
async function setUp(files: Readonly<Record<string, string>>) {
  const root = await makeTempFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  await mkdir(join(root, "repo", "sub"), { recursive: true });
  execFileSync("git", ["init", "-q", join(root, "repo")]);
  async function custom(agent: string, dir = "repo/sub", reads?: ReadsFolder): Promise<readonly string[]> {
    const template = createTemplates([]).find(({ name }) => name === agent);
    const env = { HOME: join(root, "home") };
    const commands = await template?.commands?.custom({ dir: join(root, dir), env, ...(reads && { reads }) });
    return (commands ?? []).map(({ name, description, source, argumentHint }) =>
      [name, argumentHint, `${source}:`, description].filter((part) => part !== "").join(" "),
    );
  }
  return { root, custom };
}

test("lists Claude Code's commands and skills of the user and of each folder up to the repository's root", async () => {
  const { custom } = await setUp({
    "home/.claude/commands/mine.md": "# Say hello\n\nmore",
    "home/.claude/skills/tidy/SKILL.md": "---\nname: other-name\ndescription: >-\n  Tidies\n  the code\n---\nbody",
    "home/.claude/skills/tidy/notes.md": "no command",
    "repo/.claude/commands/team/review.md":
      '---\ndescription: "Review: all"\nargument-hint: "[branch]"\nallowed-tools:\n  - Bash\n---\nReview it',
    "repo/.claude/skills/quiet/SKILL.md": "---\ndescription: x\nuser-invocable: false\n---\n",
    "repo/sub/.claude/commands/deep.md": "Deep",
    ".claude/commands/outside.md": "not in the repository",
  });
  expect(await custom("claude-code")).toEqual([
    "/tidy user: Tidies the code",
    "/mine user: Say hello",
    "/deep project: Deep",
    "/team:review [branch] project: Review: all",
  ]);
  expect(await custom("claude-code", "repo/sub", () => Promise.resolve(false))).toEqual([
    "/tidy user: Tidies the code",
    "/mine user: Say hello",
    "/deep project: Deep",
  ]);
});

test("lists Codex's skills by the name in their front matter", async () => {
  const skill = (name: string): string => `---\nname: ${name}\ndescription: Skill ${name}\n---\nbody`;
  const { custom } = await setUp({
    "home/.codex/skills/.system/own/SKILL.md": skill("own"),
    "home/.agents/skills/shared/SKILL.md": skill("shared"),
    "home/.codex/prompts/old.md": "no longer read",
    "repo/.agents/skills/a/SKILL.md": skill("deploy"),
    "repo/sub/.codex/skills/b/SKILL.md": skill("local"),
  });
  expect(await custom("codex")).toEqual([
    "$local project: Skill local",
    "$deploy project: Skill deploy",
    "$own user: Skill own",
    "$shared user: Skill shared",
  ]);
});

test("lists the custom commands of Gemini CLI and OpenCode", async () => {
  const { custom } = await setUp({
    "home/.gemini/commands/git/log.toml": 'description = "The log"\nprompt = "x"',
    "repo/.gemini/commands/bad.toml": "description = [",
    "home/.config/opencode/command/ship.md": "---\ndescription: Ships it\n---\nx",
    "repo/.opencode/commands/team/check.md": "check",
  });
  expect(await custom("gemini-cli", "repo")).toEqual(["/bad project:", "/git:log user: The log"]);
  expect(await custom("opencode")).toEqual(["/team/check project:", "/ship user: Ships it"]);
});

test("follows no link in a repository, and shows no name or character that is not text", async () => {
  const { root, custom } = await setUp({
    "secret.md": "a secret",
    "secrets/key.md": "a secret",
    "home/dotfiles/linked.md": "Linked by the user",
    "repo/.claude/commands/fine.md": "Fine \u001b[31mred\u202e",
    "repo/.claude/commands/with blank.md": "no",
    "repo/.claude/commands/-x;y.md": "no",
  });
  await symlink(join(root, "secret.md"), join(root, "repo/.claude/commands/leak.md"));
  await symlink(join(root, "secrets"), join(root, "repo/.claude/commands/leaks"));
  await symlink(join(root, "secrets"), join(root, "repo/.claude/skills"));
  await mkdir(join(root, "repo/sub/.claude"), { recursive: true });
  await symlink(join(root, "secrets"), join(root, "repo/sub/.claude/commands"));
  await mkdir(join(root, "home/.claude"), { recursive: true });
  await symlink(join(root, "home/dotfiles"), join(root, "home/.claude/commands"));
  expect(await custom("claude-code")).toEqual(["/linked user: Linked by the user", "/fine project: Fine [31mred"]);
});

test("reads the front matter of a file without any, and of one that never ends", () => {
  expect(frontMatter("hello\n---\nx: y\n---")).toEqual({ fields: new Map(), body: "hello\n---\nx: y\n---" });
  expect(frontMatter("---\nx: y\n").fields.size).toBe(0);
  expect([...frontMatter("---\r\ndescription: 'one'\r\nlist:\r\n  - a\r\n---\r\nbody").fields]).toEqual([
    ["description", "one"],
    ["list", "- a"],
  ]);
});
