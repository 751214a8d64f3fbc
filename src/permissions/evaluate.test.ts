import { describe, expect, test } from "vitest";
import { parseCommandLine } from "./command-line.ts";
import { commandsNaming, evaluate, type Rule, type RuleRequest } from "./evaluate.ts";
import { breadthOf, propose } from "./new-rules.ts";
import { pathPatternProblem } from "./path-pattern.ts";

const dir = "/home/me/app";
const base = { agent: null, sessionId: null, dir, undriven: false, expiresAt: null } as const;

function rule(pattern: string, more: Partial<Rule> = {}): Rule {
  return { ...base, ruleId: pattern, effect: "allow", tool: "command", pattern, ...more };
}

function request(line: string, more: Partial<RuleRequest> = {}): RuleRequest {
  const action = { tool: "command", line } as const;
  return { agent: "codex", sessionIds: ["s"], undriven: false, dir, counted: dir, action, ...more };
}

function answer(line: string, ...rules: readonly Rule[]): string | null {
  return evaluate(rules, request(line), 1_000)?.effect ?? null;
}

const status = rule("git status");

describe("a rule for `git status`", () => {
  test.each([
    "git status",
    "git status --short",
    "git 'status' src",
    'git "status"',
    "  git   status  ",
    "git status;",
    "git status && git status",
    "git status | git status",
    "git status 2>/dev/null",
    "git status >/dev/null 2>&1",
    "cd /home/me/app && git status",
  ])("answers %j", (line) => {
    expect(answer(line, status)).toBe("allow");
  });

  test.each([
    "",
    "git",
    "git statusx",
    "git -c alias.status=!sh status",
    "git status && id",
    "git status; id",
    "git status | sh",
    "git status || id",
    "git status & id",
    "git status\nid",
    "git status $(id)",
    "git status `id`",
    "git status <(id)",
    "git status > file",
    "git status 2> /dev/null",
    "git status 2&>/dev/null",
    "git status >/dev/nullx",
    "git status; >/dev/null",
    "git status $HOME",
    "git status ~",
    "git status *",
    "git status {a,b}",
    "git status \\",
    "git status # x",
    "git status !x",
    "git status\u00a0x",
    "git status ../other",
    "git status /etc",
    "git status --output=/etc/x",
    "A=b git status",
    "=git status",
    "command git status",
    "! git status",
    "(git status)",
    "cd /tmp && git status",
    "cd /home/me/app; git status",
    "eval git status",
    "'git status'",
    "git 'sta''tus'",
    "git status 'a",
    "git status && ",
    "&& git status",
    "git status;; git status",
    "git status |& git status",
    "git status; \u00a0",
    "git status;\n",
    "git status\r",
    "git status\r\nid",
    "git status\u2028id",
    "git status https://x/../../../etc",
    "git st\u0430tus",
    "git status ''=id",
    "git status x=''=id",
    "git status x==id",
    "git status x=a:=id",
    "-x; git status",
    "'--' x",
    "+x",
  ])("does not answer %j", (line) => {
    expect(answer(line, status)).toBeNull();
  });
});

test.each([
  ["find", "find . -name x -exec id"],
  ["sort", "sort --compress-program=id x"],
  ["sort", "sort --compress-prog=id x"],
  ["tar", "tar -xf a.tar --to-command=id"],
  ["rg", "rg --pre id x"],
  ["git grep", "git grep -Oid x"],
  ["git grep", "git grep --open-files-in-pager=id x"],
  ["git diff", "git diff --output=x"],
  ["git", "git -C x status"],
  ["cc", "cc -I/etc x.c"],
  ["cc", "cc -Wl,/etc/x x.c"],
  ["cc", "cc -I../../etc x.c"],
  ["cc", "cc -X1/etc/x x.c"],
  ["cc", "cc @/etc/x"],
  ["cc", "cc @../x"],
  ["cc", "cc -wrapper id x.c"],
  ["cat", "cat https://x/../../../../etc/passwd"],
  ["cat", "cat https://x/.git/config"],
  ["less", "less '+!id' x"],
  ["npm test", "npm test --git=./x"],
  ["cp", "cp x .cargo/config.toml"],
  ["sort", "sort --o=x y"],
  ["split", "split --filter=id x"],
  ["go test", "go test --exec=id"],
  ["go test", "go test --toolexec=id"],
  ["go test", "go test -toolexec=id"],
  ["cp", "cp x .git/hooks/pre-commit"],
  ["cp", "cp x sub/.claude/settings.json"],
  ["cp", "cp --target-directory=.codex x"],
])("a rule for `%s` does not answer %j", (pattern, line) => {
  expect(answer(line, rule(pattern))).toBeNull();
});

test("a deny rule wins, wherever the program is and in whatever order", () => {
  const deny = rule("git push", { effect: "deny" });
  expect(answer("git push", rule("git push"), deny)).toBe("deny");
  expect(answer("git status && /usr/bin/git push origin", status, deny)).toBe("deny");
  expect(answer("git status", deny, status)).toBe("allow");
});

describe("with a denial of `git push` and of files, and every command allowed", () => {
  const rules = [
    rule("*"),
    rule("git push", { effect: "deny" }),
    rule("secrets/**", { effect: "deny", tool: "read" }),
    rule("caf\u00e9.txt", { effect: "deny", tool: "edit" }),
  ];

  test.each([
    "git --no-pager push",
    "git -C . push",
    "env git push",
    "sh -c 'git push'",
    `sh -c "x;git 'push'"`,
    "/usr/bin/GIT --no-pager Push origin",
    "cat secrets/key",
    "cat ./src/../secrets/key",
    "cp --target-directory=secrets x",
    "cat Secrets/key",
    "cat /home/me/app/secrets/key",
    "cp x cafe\u0301.txt",
  ])("%j is shown", (line) => {
    expect(answer(line, ...rules)).toBeNull();
  });

  test.each(["git status", "npm run push", "cat other/key", "cat secrets.txt"])("%j is allowed", (line) => {
    expect(answer(line, ...rules)).toBe("allow");
  });

  test("a file is denied in any form of its accents", () => {
    const action = { tool: "edit", paths: [`${dir}/Cafe\u0301.txt`] } as const;
    expect(evaluate([rule("**", { tool: "edit" }), ...rules], request("", { action }), 1)?.effect).toBe("deny");
  });
});

test("in a worktree, arguments stay in the session's directory, also where a folder beside it has the repository's name", () => {
  const asked = (line: string) =>
    evaluate([rule("ls", { dir: "/home/me" })], { ...request(line), dir: "/srv/trees/app", counted: dir }, 1)?.effect;
  expect(asked("ls /srv/trees/app/x")).toBe("allow");
  expect(asked("ls /srv/trees/other")).toBeUndefined();
  expect(asked("ls /home/me/app")).toBeUndefined();
});

test("a denied file stays denied for a session in a folder above", () => {
  const action = { tool: "edit", paths: [`${dir}/sub/x`] } as const;
  const deny = rule("**", { tool: "edit", effect: "deny", dir: `${dir}/sub` });
  const asked = (...rules: readonly Rule[]) => evaluate(rules, request("", { action }), 1)?.effect;
  expect(asked(rule("**", { tool: "edit" }), deny)).toBe("deny");
  expect(asked(rule("**", { tool: "edit", dir: `${dir}/sub` }))).toBeUndefined();
});

test("long paths and words are read in time that grows with their length", () => {
  const started = performance.now();
  const paths = [`${dir}/${"a/".repeat(2_000)}x`];
  const deep = rule("**/a/**/a/**/y", { tool: "edit" });
  expect(evaluate([deep], request("", { action: { tool: "edit", paths } }), 1)).toBeNull();
  const anywhere = rule("ls", { dir: "/" });
  expect(evaluate([anywhere], request(`ls ${"/".repeat(7_000)}x`), 1)?.effect).toBe("allow");
  // With backtracking, hours.
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("a command that names a folder is found in any spelling", () => {
  expect(commandsNaming("cat '/home/me'/.postern/x", "/home/me/.postern")).toBe(true);
  expect(commandsNaming("cat --file=/home//me/./.Postern/x", "/home/me/.postern")).toBe(true);
  expect(commandsNaming("cat /home/me/x", "/home/me/.postern")).toBe(false);
});

test("a rule answers only in its folder, session, agent and time, and not after a prompt without coding:drive", () => {
  const asked = (own: Rule, more: Partial<RuleRequest>) => evaluate([own], request("git status", more), 1_000)?.effect;
  expect(asked(status, { dir: `${dir}/sub`, counted: `${dir}/sub` })).toBe("allow");
  expect(asked(status, { dir: `${dir}2`, counted: `${dir}2` })).toBeUndefined();
  expect(asked(status, { dir: "/code/tree", counted: dir })).toBe("allow");
  expect(asked(rule("git status", { agent: "claude-code" }), {})).toBeUndefined();
  expect(asked(rule("git status", { sessionId: "other" }), {})).toBeUndefined();
  expect(asked(rule("git status", { expiresAt: 1_000 }), {})).toBeUndefined();
  expect(asked(status, { undriven: true })).toBeUndefined();
  expect(asked(rule("git status", { undriven: true }), { undriven: true })).toBe("allow");
  expect(asked(rule("git status", { effect: "deny" }), { undriven: true })).toBe("deny");
});

test("file rules cover resolved paths below their folder, and never settings, hooks or start files", () => {
  const edit = (pattern: string, ...below: readonly string[]) => {
    const paths = below.map((path) => `${dir}/${path}`);
    return evaluate([rule(pattern, { tool: "edit" })], request("", { action: { tool: "edit", paths } }), 1)?.effect;
  };
  expect(edit("src/**", "src/a.ts", "src/b/c.ts")).toBe("allow");
  expect(edit("src/*.ts", "src/a.ts")).toBe("allow");
  expect(edit("src/*.ts", "src/b/a.ts")).toBeUndefined();
  expect(edit("src/**", "src/a.ts", "other.ts")).toBeUndefined();
  for (const path of [".git/hooks/x", ".claude/settings.json", "a/.codex/config.toml", ".bashrc", "sub/.GIT/config"]) {
    expect(edit("**", path), path).toBeUndefined();
  }
  for (const bad of ["/etc/x", "../x", "a//b", "~/x", "a?b", ".git/**", "a/b**"]) {
    expect(pathPatternProblem(bad), bad).not.toBeNull();
  }
});

test.each([
  "*",
  "bash",
  "sh -c",
  "python3 x.py",
  "env",
  "sudo ls",
  "npx x",
  "npm install",
  "npm run",
  "git",
  "docker run",
  "make",
  "tar xf",
  "patch",
])("the pattern %j has to be typed again", (pattern) => {
  expect(breadthOf({ effect: "allow", tool: "command", pattern })).not.toBeNull();
  expect(breadthOf({ effect: "deny", tool: "command", pattern })).toBeNull();
});

test("a proposal is the program and its subcommand, or the whole command", () => {
  const proposed = (line: string) => propose(request(line)).patterns;
  expect(proposed("git status --short")).toEqual(["git status"]);
  expect(proposed("npm test -- x && npm run build --fast")).toEqual(["npm test", "npm run build"]);
  expect(proposed("rm -rf build")).toEqual(["rm -rf build"]);
  expect(propose(request("echo $(id)"))).toMatchObject({ patterns: [], refusal: expect.stringContaining("`$`") });
});

test("a line is split into the words that the shell passes on", () => {
  expect(parseCommandLine(`a 'b c' "d e"f | g 2>&1`).commands).toEqual([["a", "b c", "d ef"], ["g"]]);
});
