import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { type FolderScope, folderScopes } from "../wire/access.ts";
import { createFolders } from "./index.ts";
import { resolvePath } from "./real-path.ts";

/** A tree with every trap: links in and out, relative, absolute, nested, dangling and circular, and names with a common prefix. */
const dirs = ["home", "home/run", "a", "a/b", "a/b/c", "a/bc", "a/b/c/d", "e", "e/f"];
const links: Readonly<Record<string, string>> = {
  "a/out": "ROOT/e",
  "a/b/up": "../..",
  "a/b/sideways": "../bc",
  "e/in": "ROOT/a/b",
  "e/twice": "in/c",
  "e/f/to-out": "../../a/out",
  "a/dangling": "ROOT/e/missing",
  "a/circle": "round",
  "a/round": "circle",
  "e/postern": "ROOT/home",
};
const names = ["a", "b", "bc", "c", "d", "e", "f", "home", "run", "missing", "..", "..", ".", ""];
const linkNames = Object.keys(links).map((path) => path.split("/").at(-1) ?? "");

type Outcome = { readonly dir: string } | { readonly code: string };

/** The rule as specified in the specification, over the tree above as data: slow, recursive, and independent of the implementation. */
function modelOf(root: string) {
  const directories = new Set(["", ...dirs]);
  // `lost`: in a cycle of links. The path ends there.
  const resolve = (path: string, depth = 0): { path: string; exists: boolean; lost: boolean } => {
    if (depth > 50) return { path, exists: false, lost: true };
    if (path === "") return { path: "", exists: true, lost: false };
    const cut = path.lastIndexOf("/");
    const parent = resolve(path.slice(0, Math.max(cut, 0)), depth);
    const name = path.slice(cut + 1);
    if (name === "" || name === "." || parent.lost) return parent;
    if (name === "..")
      return { path: parent.path.split("/").slice(0, -1).join("/"), exists: parent.exists, lost: false };
    const here = parent.path === "" ? name : `${parent.path}/${name}`;
    const target = links[here];
    if (target === undefined) return { path: here, exists: parent.exists && directories.has(here), lost: false };
    const led = resolve(target.startsWith("ROOT/") ? target.slice(5) : `${parent.path}/${target}`, depth + 1);
    return { ...led, exists: led.exists && parent.exists };
  };
  const inside = (outer: string, inner: string): boolean => {
    const [o, i] = [outer, inner].map((path) => path.split("/").filter((part) => part !== ""));
    return (o ?? []).every((part, at) => part === i?.[at]);
  };
  const decide = (
    folders: ReadonlyMap<string, readonly FolderScope[]>,
    query: { path: string; scope: FolderScope; within: readonly string[] | null },
  ): Outcome => {
    const { path, exists } = resolve(query.path);
    const outer = [...folders.keys()].filter((folder) => inside(folder, path));
    const nearest = outer.toSorted((x, y) => y.split("/").length - x.split("/").length)[0];
    const scopes = nearest === undefined ? [] : (folders.get(nearest) ?? []);
    const inFolders = folders.size === 0 || scopes.includes(query.scope);
    const inLimit = query.within === null || query.within.some((folder) => inside(folder, path));
    if (!inFolders || !inLimit || inside("home", path) || inside(path, "home")) return { code: "dir_not_allowed" };
    return exists ? { dir: join(root, path) } : { code: "dir_not_found" };
  };
  return { decide, resolve };
}

/** A path to a place in the tree, real or through a link, and a few steps from there. */
const pathArbitrary = fc
  .tuple(
    fc.constantFrom("", ...dirs, ...Object.keys(links)),
    fc.array(fc.constantFrom(...names, ...linkNames), { maxLength: 3 }),
  )
  .map(([start, steps]) => [start, ...steps].join("/"));
const registrable = dirs.filter((dir) => !dir.startsWith("home"));

async function makeTree(): Promise<string> {
  // Deep enough that no test path climbs out.
  const root = join(await makeTempFolder(), "1/2/3/4/5/6/7/8");
  for (const dir of dirs) await mkdir(join(root, dir), { recursive: true });
  for (const [path, target] of Object.entries(links)) await symlink(target.replace("ROOT", root), join(root, path));
  return root;
}

/** Whether the model supports the path: it never goes above the root. */
function staysInside(path: string, resolve: (path: string) => { path: string }): boolean {
  const parts = path.split("/");
  return parts.every((part, at) => part !== ".." || resolve(parts.slice(0, at).join("/")).path !== "");
}

test("the rule agrees with the naive model, for any folders and any path", async () => {
  const root = await makeTree();
  const { db } = await openSqliteTestStore();
  const folders = createFolders({ db, clock: systemClock, home: join(root, "home") });
  const model = modelOf(root);
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...registrable), fc.subarray([...folderScopes], { minLength: 1 }), { maxKeys: 4 }),
      fc.array(
        fc.record({
          path: pathArbitrary,
          scope: fc.constantFrom(...folderScopes),
          within: fc.oneof(
            { arbitrary: fc.constant(null), weight: 3 },
            { arbitrary: fc.subarray(registrable, { minLength: 1 }), weight: 1 },
          ),
        }),
        { minLength: 1, maxLength: 20 },
      ),
      async (registered, queries) => {
        await db.deleteFrom("folders").execute();
        for (const [path, scopes] of Object.entries(registered)) await folders.add(join(root, path), scopes);
        for (const { path, scope, within } of queries) {
          if (!staysInside(path, model.resolve)) continue;
          const rule = { scope, within: within?.map((folder) => join(root, folder)) ?? null };
          const attempt = folders.resolveAllowedDir(`${root}/${path}`, rule);
          const code = await errorCode(attempt);
          const actual: Outcome = code === null ? { dir: (await attempt).dir } : { code };
          const expected = model.decide(new Map(Object.entries(registered)), { path, scope, within });
          expect(actual, `${path} for ${scope}`).toEqual(expected);
          const kind = "code" in expected ? expected.code : "allowed";
          outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
        }
      },
    ),
    {
      numRuns: 200,
      examples: ["dangling", "b/sideways"].map((rest) => [
        {},
        [{ path: `a/circle/../${rest}`, scope: "files", within: ["a/b"] }],
      ]),
    },
  );
  // The generator must reach every outcome, or the property proves little.
  for (const kind of ["allowed", "dir_not_allowed", "dir_not_found"]) {
    expect(outcomes.get(kind) ?? 0, kind).toBeGreaterThan(50);
  }
});

test("an existing path resolves as in the kernel", async () => {
  const root = await makeTree();
  await fc.assert(
    fc.asyncProperty(pathArbitrary, async (path) => {
      const kernel = await realpath(`${root}/${path}`).catch(() => null);
      const resolved = await resolvePath(`${root}/${path}`);
      if (kernel === null) expect(resolved.exists).toBe(false);
      else expect(resolved).toEqual({ path: kernel, exists: true });
    }),
    { numRuns: 500 },
  );
});
