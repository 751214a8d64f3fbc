import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type CompleteRule, completePath } from "./complete-path.ts";
import type { RegisteredFolder } from "./real-path.ts";

/** A tree with completion in it; paths are relative to its root. */
async function setUp(folders: Readonly<Record<string, readonly RegisteredFolder["scopes"][number][]>> = {}) {
  const root = await makeTempFolder();
  const dirs = ["code/app/.git", "code/api", "code/.config", "code/other/deep", "home/.postern/run", "elsewhere"];
  for (const dir of dirs) await mkdir(join(root, dir), { recursive: true });
  await writeFile(join(root, "code", "a file"), "");
  await symlink(join(root, "elsewhere"), join(root, "code", "away"));
  const registered = Object.entries(folders).map(([path, scopes]) => ({ path: join(root, path), scopes }));
  const places = { folders: registered, home: join(root, "home", ".postern") };
  const owner: CompleteRule = { within: null, anywhere: true, userHome: join(root, "home") };
  async function complete(path: string, rule: Partial<CompleteRule> = {}): Promise<readonly string[]> {
    const given = path.startsWith("~") ? path : `${root}${path}`;
    const within = rule.within?.map((folder) => join(root, folder)) ?? null;
    const { directories } = await completePath(given, places, { ...owner, ...rule, within });
    return directories.map((each) => `${each.path.slice(root.length)}${each.isRepository ? " (repository)" : ""}`);
  }
  return { root, places, owner, complete };
}

test("lists matching directories, sorted, with links to directories and without files", async () => {
  const { complete } = await setUp();
  expect(await complete("/code/")).toEqual(["/code/api", "/code/app (repository)", "/code/away", "/code/other"]);
  expect(await complete("/code/ap")).toEqual(["/code/api", "/code/app (repository)"]);
  expect(await complete("/code")).toEqual(["/code"]);
  expect(await complete("/code/x")).toEqual([]);
  expect(await complete("/missing/x")).toEqual([]);
  expect(await complete("/code/a file/")).toEqual([]);
});

test("lists hidden directories only if the typed name starts with a dot", async () => {
  const { complete } = await setUp();
  expect(await complete("/code/.")).toEqual(["/code/.config"]);
  expect(await complete("/code/app/.g")).toEqual(["/code/app/.git"]);
});

test("a tilde is the owner's home, and Postern's own folder is never listed", async () => {
  const { complete, root, places, owner } = await setUp();
  expect(await complete("~")).toEqual(["/home"]);
  expect(await complete("~/.")).toEqual([]);
  expect(await complete("/home/.postern/")).toEqual([]);
  expect(await errorCode(completePath("~/", places, { ...owner, userHome: null }))).toBe("invalid_request");
  expect(await errorCode(completePath("code", places, owner))).toBe("invalid_request");
  expect(await errorCode(completePath(`${root}/\0`, places, owner))).toBe("invalid_request");
});

test("with registered folders, lists only these, their content and the path to them", async () => {
  const { complete } = await setUp({ "code/app": ["coding"], "code/other": ["files"], elsewhere: ["exec"] });
  expect(await complete("/")).toEqual(["/code/app (repository)", "/code/other"]);
  expect(await complete("/code/o")).toEqual(["/code/other"]);
  expect(await complete("/code/other/")).toEqual(["/code/other/deep"]);
  expect(await complete("/code/api")).toEqual([]);
  expect(await complete("/elsew")).toEqual([]);
});

test("does not follow a link out of a registered folder", async () => {
  const { complete } = await setUp({ code: ["coding"] });
  expect(await complete("/code/")).toEqual(["/code/api", "/code/app (repository)", "/code/other"]);
  expect(await complete("/code/away/")).toEqual([]);
});

test("a non-owner or a caller limited to some folders sees only those", async () => {
  const { complete } = await setUp();
  expect(await complete("/code/", { anywhere: false })).toEqual([]);
  expect(await complete("/code/", { anywhere: false, within: ["code/other"] })).toEqual(["/code/other"]);
  expect(await complete("/", { anywhere: false, within: ["code/other"] })).toEqual(["/code/other"]);
});

test("lists at most 100 and reports that there are more", async () => {
  const { root, places, owner } = await setUp();
  for (let number = 0; number < 101; number += 1) await mkdir(join(root, "elsewhere", String(1_000 + number)));
  const all = await completePath(join(root, "elsewhere/"), places, owner);
  expect(all.truncated).toBe(true);
  expect(all.directories.map(({ path }) => path.slice(-4))).toEqual(
    Array.from({ length: 100 }, (_, number) => String(1_000 + number)),
  );
  expect(await completePath(join(root, "elsewhere", "100"), places, owner)).toMatchObject({ truncated: false });
});
