import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import type { FolderScope } from "../wire/access.ts";
import { createFolders, type Rule } from "./index.ts";

const coding = { scope: "coding", within: null } as const;

async function setUp(openStore: OpenTestStore) {
  const root = await makeTempFolder();
  for (const dir of ["home/run", "repos/app/src", "repos/app-two", "repos/secret/deep", "other"]) {
    await mkdir(join(root, dir), { recursive: true });
  }
  await writeFile(join(root, "repos/file"), "");
  const { db } = await openStore();
  const folders = createFolders({ db, clock: systemClock, home: join(root, "home") });
  const at = (path: string): string => join(root, path);
  const codeOf = async (dir: string, rule: Rule = coding): Promise<string> => {
    const attempt = folders.resolveAllowedDir(dir, rule);
    return (await errorCode(attempt)) ?? (await attempt).dir;
  };
  return { root, db, folders, at, codeOf };
}

describeOnBothStores("folders", (openStore) => {
  test("are registered by their real path, listed in order, updated with other scopes, and removed", async () => {
    const { folders, at } = await setUp(openStore);
    await symlink(at("repos/app"), at("link"));
    const app = await folders.add(at("link"), ["exec", "coding", "coding"]);
    expect(app).toMatchObject({ path: at("repos/app"), scopes: ["coding", "exec"] });
    await folders.add(at("other"), ["files"]);
    expect((await folders.list()).map(({ path }) => path)).toEqual([at("other"), at("repos/app")]);
    const changed = await folders.add(at("repos/app"), ["files"]);
    expect(changed).toEqual({ ...app, scopes: ["files"] });
    expect(await folders.remove(at("link"))).toEqual(changed);
    await expect(folders.remove(at("link"))).rejects.toMatchObject({ code: "folder_not_found" });
  });

  test("have a template for the names of worktrees, which stays when only the scopes change; the innermost applies", async () => {
    const { folders, at } = await setUp(openStore);
    expect(await folders.worktreeNameFor(at("repos/app"))).toBe("{branch}");
    const worktreeName = "{repository}-{branch}";
    expect(await folders.add(at("repos"), ["coding"], { worktreeName })).toMatchObject({ worktreeName });
    expect(await folders.add(at("repos"), ["files"])).toMatchObject({ scopes: ["files"], worktreeName });
    await symlink(at("repos/app"), at("link"));
    expect(await folders.worktreeNameFor(at("link"))).toBe(worktreeName);
    expect(await folders.worktreeNameFor(at("other"))).toBe("{branch}");
    expect(await folders.add(at("repos/app"), ["coding"])).toMatchObject({ worktreeName: "{branch}" });
    expect(await folders.worktreeNameFor(at("repos/app/src"))).toBe("{branch}");
    expect(await folders.worktreeNameFor(at("repos/app-two"))).toBe(worktreeName);
  });

  test("can be removed when they are gone from the disk", async () => {
    const { folders, at } = await setUp(openStore);
    await folders.add(at("other"), ["files"]);
    await rm(at("other"), { recursive: true });
    expect(await folders.remove(at("other/../other/"))).toMatchObject({ path: at("other") });
  });

  test("are refused when they do not exist, are files, relative, without scopes, or touch Postern's own folder", async () => {
    const { folders, root, at } = await setUp(openStore);
    const refusal = (path: string, scopes: readonly FolderScope[] = ["coding"]) => errorCode(folders.add(path, scopes));
    expect(await refusal(at("nowhere"))).toBe("dir_not_found");
    expect(await refusal(at("repos/file"))).toBe("dir_not_found");
    expect(await refusal("repos")).toBe("invalid_request");
    expect(await refusal(`${at("repos")}\0`)).toBe("invalid_request");
    expect(await refusal(at("repos"), [])).toBe("invalid_request");
    expect(await refusal(at("home"))).toBe("dir_not_allowed");
    expect(await refusal(at("home/run"))).toBe("dir_not_allowed");
    expect(await refusal(root)).toBe("dir_not_allowed");
    expect(await refusal("/")).toBe("dir_not_allowed");
    expect(await folders.list()).toEqual([]);
  });

  test("allow any directory while there are none, except Postern's own and its parents", async () => {
    const { folders, root, at, codeOf } = await setUp(openStore);
    expect(await folders.resolveAllowedDir(at("other"), coding)).toEqual({ dir: at("other"), trusted: true });
    expect(await folders.resolveAllowedDir(at("other"), { ...coding, ownRequest: false })).toEqual({
      dir: at("other"),
      trusted: false,
    });
    expect(await codeOf(at("other"), { scope: "exec", within: null })).toBe(at("other"));
    expect(await codeOf(at("nowhere"))).toBe("dir_not_found");
    expect(await codeOf(at("repos/file"))).toBe("dir_not_found");
    expect(await codeOf(at("home"))).toBe("dir_not_allowed");
    expect(await codeOf(at("home/run"))).toBe("dir_not_allowed");
    expect(await codeOf(at("home/not-yet"))).toBe("dir_not_allowed");
    expect(await codeOf(root)).toBe("dir_not_allowed");
    expect(await codeOf("/")).toBe("dir_not_allowed");
    await symlink(at("home"), at("way-in"));
    expect(await codeOf(at("way-in/run"))).toBe("dir_not_allowed");
  });

  test("reject a path that is relative or contains a NUL", async () => {
    const { codeOf, at } = await setUp(openStore);
    expect(await codeOf("repos/app")).toBe("invalid_request");
    expect(await codeOf("")).toBe("invalid_request");
    expect(await codeOf("~/repos")).toBe("invalid_request");
    expect(await codeOf(`${at("other")}\0/x`)).toBe("invalid_request");
  });

  test("are compared by component, and the innermost one decides", async () => {
    const { folders, at, codeOf } = await setUp(openStore);
    await folders.add(at("repos/app"), ["coding"]);
    expect(await codeOf(at("repos/app"))).toBe(at("repos/app"));
    expect(await codeOf(at("repos/app/src"))).toBe(at("repos/app/src"));
    expect(await codeOf(at("repos/app-two"))).toBe("dir_not_allowed");
    expect(await codeOf(at("repos"))).toBe("dir_not_allowed");
    await folders.add(at("repos"), ["coding"]);
    await folders.add(at("repos/secret"), ["files"]);
    expect(await codeOf(at("repos/app-two"))).toBe(at("repos/app-two"));
    expect(await codeOf(at("repos/secret/deep"))).toBe("dir_not_allowed");
    expect(await codeOf(at("repos/secret/deep"), { scope: "files", within: null })).toBe(at("repos/secret/deep"));
    expect(await codeOf(at("repos/app"), { scope: "exec", within: null })).toBe("dir_not_allowed");
    expect((await folders.resolveAllowedDir(at("repos/secret"), { scope: "files", within: null })).trusted).toBe(false);
  });

  test("cannot be escaped by a symlink or `..`", async () => {
    const { folders, at, codeOf } = await setUp(openStore);
    await folders.add(at("repos/app"), ["coding"]);
    await symlink(at("other"), at("repos/app/out"));
    await symlink("../../other", at("repos/app/relative-out"));
    await symlink(at("repos/app/src"), at("other/in"));
    expect(await codeOf(at("repos/app/out"))).toBe("dir_not_allowed");
    expect(await codeOf(at("repos/app/relative-out"))).toBe("dir_not_allowed");
    expect(await codeOf(`${at("repos/app")}/../../other`)).toBe("dir_not_allowed");
    // The kernel goes up from the link's target: this is the folder above `other`, not `repos/app`.
    expect(await codeOf(`${at("repos/app")}/out/../other`)).toBe("dir_not_allowed");
    expect(await codeOf(at("other/in"))).toBe(at("repos/app/src"));
    expect(await codeOf(`${at("other/in")}/..`)).toBe(at("repos/app"));
  });

  test("give the same answer for existing and missing paths outside", async () => {
    const { folders, at } = await setUp(openStore);
    await folders.add(at("repos/app"), ["coding"]);
    await symlink(at("other/missing"), at("repos/app/dangling"));
    const answer = async (dir: string): Promise<string> => {
      const error = await folders.resolveAllowedDir(dir, coding).catch((reason: unknown) => reason);
      return String(error).replace(dir, "DIR");
    };
    expect(await answer(at("nowhere"))).toBe(await answer(at("other")));
    expect(await answer(at("repos/file"))).toBe(await answer(at("other")));
    expect(await answer(at("repos/app/dangling"))).toBe(await answer(at("other")));
    expect(await answer(at("repos/app/missing"))).toContain("Directory not found");
  });

  test("confine a limited caller to its own folders, with and without registered ones", async () => {
    const { folders, at, codeOf } = await setUp(openStore);
    const limited = { scope: "coding", within: [at("repos/app")] } as const;
    expect(await codeOf(at("repos/app/src"), limited)).toBe(at("repos/app/src"));
    expect(await codeOf(at("other"), limited)).toBe("dir_not_allowed");
    expect(await codeOf(at("nowhere"), limited)).toBe("dir_not_allowed");
    await folders.add(at("repos/secret"), ["coding"]);
    expect(await codeOf(at("repos/secret"), limited)).toBe("dir_not_allowed");
    expect(await codeOf(at("repos/app"), limited)).toBe("dir_not_allowed");
    expect(await codeOf(at("repos/app"), { scope: "coding", within: [] })).toBe("dir_not_allowed");
  });

  test("show sessions of a deleted directory by its former path", async () => {
    const { folders, at } = await setUp(openStore);
    expect(await folders.isVisible(at("gone"), coding)).toBe(true);
    await folders.add(at("repos/app"), ["coding"]);
    await symlink(at("other"), at("repos/app/out"));
    expect(await folders.isVisible(at("repos/app/gone/deep"), coding)).toBe(true);
    expect(await folders.isVisible(at("repos/gone"), coding)).toBe(false);
    expect(await folders.isVisible(at("repos/app/out/gone"), coding)).toBe(false);
    expect(await folders.isVisible(at("repos/app"), { scope: "coding", within: [at("other")] })).toBe(false);
    expect(await folders.isVisible("not/absolute", coding)).toBe(false);
    await rename(at("repos/app"), at("repos/moved"));
    expect(await folders.isVisible(at("repos/app"), coding)).toBe(true);
  });

  test("registered or removed by another process take effect with the next call", async () => {
    const { db, root, at, codeOf } = await setUp(openStore);
    const elsewhere = createFolders({ db, clock: systemClock, home: join(root, "home") });
    expect(await codeOf(at("other"))).toBe(at("other"));
    await elsewhere.add(at("repos"), ["coding"]);
    expect(await codeOf(at("other"))).toBe("dir_not_allowed");
    await elsewhere.remove(at("repos"));
    expect(await codeOf(at("other"))).toBe(at("other"));
  });

  test("are not found if this process cannot enter them", async () => {
    const { at, codeOf } = await setUp(openStore);
    await mkdir(at("closed"), { mode: 0o000 });
    const asRoot = process.getuid?.() === 0; // root can enter any folder
    expect(await codeOf(at("closed"))).toBe(asRoot ? at("closed") : "dir_not_found");
  });
});
