import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runNpm } from "../../tools/npm.ts";
import { type PackedPackage, packPostern } from "../../tools/pack.ts";
import { preparePackageInstall, type TriedNodes } from "../../tools/package-install.ts";
import { useBrowser } from "../support/browser.ts";
import { createWorld, endTerminalHost } from "../support/gateway.ts";
import { installPackaged } from "../support/packaged-postern.ts";
import { expectTurn, openSession } from "../support/session-page.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

let nodes: TriedNodes;
let packed: PackedPackage;
beforeAll(async () => {
  nodes = await preparePackageInstall(console.log);
  packed = await packPostern(console.log);
}, 180_000);

const browser = useBrowser();

describe.for([24, 26] as const)("installed from its tarball on Node %i, with no compiler", (major) => {
  test("a gateway is set up and served, an agent answers, and the page shows what it said", {
    timeout: 240_000,
  }, async () => {
    const root = await makeTempFolder();
    const installedAt = performance.now();
    const postern = await installPackaged(root, { tarball: packed.tarball, node: nodes[major] });
    const installMs = performance.now() - installedAt;
    const world = await createWorld({ agents: false, env: { PATH: postern.path } });
    onTestFinished(() => world.close());
    const run = async (...argv: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await postern.run(argv, world.env);
      expect(code, `postern ${argv.join(" ")}: ${stderr}`).toBe(0);
      return stdout;
    };

    expect(await readdir(postern.path)).toEqual(["codex", "git", "node", "sh"]);
    expect(await run("--version")).toBe(`${packed.version}\n`);
    await runNpm(["ls", "--omit=dev", "--all"], { cwd: postern.folder, node: nodes[major] });
    await run("coding", "setup", "--yes", "--default", "codex");
    const startedAt = performance.now();
    const gateway = await postern.serve(world.env);
    const startMs = performance.now() - startedAt;
    onTestFinished(async () => void (await gateway.end("SIGKILL")));
    expect(await readFile(`/proc/${gateway.pid}/cmdline`, "utf8")).toMatch(/^node\0/);

    const asked = JSON.parse(await run("coding", "ask", "--dir", world.repository, "--json", "say marmalade"));
    expect(asked).toMatchObject({ agent: "codex", activity: "idle", delivered: true });
    expect(asked.turns.at(-1).text).toBe("marmalade");
    const visit = await browser.visit((await run("login-link")).trim());
    await openSession(visit.page, asked.sessionId);
    await expectTurn(visit.page, "marmalade");
    expect(visit.troubles()).toEqual([]);
    await gateway.end("SIGTERM");
    await endTerminalHost(world.home);

    const store = new DatabaseSync(join(world.home, "postern.db"));
    store.exec("insert into kysely_migration values ('9999-of-later', '2031-01-01')");
    store.close();
    for (const command of [["serve"], ["token", "list"]]) {
      const refused = await postern.run(command, world.env);
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toMatch(
        /^postern: store_newer: The store at .*postern\.db was written by a newer Postern \(it has 9999-of-later\)\. Run that version, or restore a backup\.\n$/,
      );
    }
    console.log(`Node ${major}: installed in ${installMs.toFixed(0)} ms, served after ${startMs.toFixed(0)} ms`);
  });
});
