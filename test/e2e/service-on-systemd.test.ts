import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { debianRoot } from "../../tools/debian-root.ts";
import { installAgents } from "../../tools/install-agents.ts";
import { npmFolder } from "../../tools/npm.ts";
import { type PackedPackage, packPostern } from "../../tools/pack.ts";
import { packageCache, preparePackageInstall } from "../../tools/package-install.ts";
import { bootMachine, type Machine, whyNoMachine } from "../support/machine.ts";

const root = debianRoot();
const why = whyNoMachine();
const repository = resolve(import.meta.dirname, "../..");
const patience = { timeout: 30_000, interval: 250 };
const key = "sk-scripted-anthropic-0000000000000000";
const modelUrl = "http://127.0.0.1:4010";
const scriptedModel = `[Service]
ExecStart=/usr/local/bin/node -e 'import("/opt/checkout/test/model-server/model-server.ts").then((it) => it.startModelServer({ port: 4010 }))'
[Install]
WantedBy=multi-user.target
`;

/** What `postern coding ask --json` prints, as far as it is looked at. */
interface Answer {
  readonly sessionId: string;
  readonly pid: number;
  readonly started: string;
  readonly turns: readonly { readonly role: string; readonly text: string }[];
}

// One machine's life, from the install to the uninstall, in this order.
describe.skipIf(why !== null)(`a user's service on a real systemd${why === null ? "" : ` (skipped: ${why})`}`, () => {
  let packed: PackedPackage;
  let machine: Machine;
  let session: Answer;
  let closeTerminal: () => Promise<void>;

  /** Types it into a login shell of the person. @returns what it printed */
  async function typed(script: string, exitCode = 0): Promise<string> {
    const { code, stdout, stderr } = await machine.login(script);
    expect(code, `${script}\n${stdout}${stderr}`).toBe(exitCode);
    return `${stdout}${stderr}`;
  }
  async function ask(words: string): Promise<Answer> {
    const { code, stdout, stderr } = await machine.login(`cd ~/code/project && postern coding ask --json ${words}`);
    expect(code, `${words}\n${stdout}${stderr}`).toBe(0);
    return JSON.parse(stdout);
  }
  const unit = async (): Promise<{ readonly pid: number; readonly running: boolean; readonly version: string }> =>
    JSON.parse((await machine.login("postern service status --json")).stdout);
  const isThere = async (pid: number): Promise<boolean> =>
    (await machine.asRoot("test", "-e", `/proc/${pid}`)).code === 0;
  const managerState = async (): Promise<string> =>
    (await machine.asRoot("systemctl", "is-active", "user@1000.service")).stdout;
  /** As root, so that nobody logs in. */
  const isHealthy = async (): Promise<boolean> => {
    const look = `fetch("http://127.0.0.1:7177/healthz").then((it) => process.exit(it.ok ? 0 : 1))`;
    return (await machine.asRoot("node", "-e", look)).code === 0;
  };

  /** A terminal that stays open next to what is typed: it holds the login. */
  function openTerminal(): () => Promise<void> {
    const ended = machine.login("touch ~/open; while [ -e ~/open ]; do sleep 0.1; done");
    return async () => {
      await machine.asRoot("rm", "/home/jo/open");
      await ended;
    };
  }

  beforeAll(async () => {
    if ("missing" in root) return;
    const [nodes, agents] = await Promise.all([preparePackageInstall(console.log), installAgents(console.log)]);
    packed = await packPostern(console.log);
    const readOnly = (from: string, to: string) => ({ from, to, readOnly: true });
    machine = await bootMachine({
      root: root.path,
      binds: [
        readOnly(nodes[24], "/usr/local/bin/node"),
        readOnly(npmFolder(), "/usr/local/lib/node_modules/npm"),
        readOnly(agents.claude, "/usr/local/bin/claude"),
        readOnly(repository, "/opt/checkout"),
      ],
      files: {
        "/etc/systemd/system/model.service": scriptedModel,
        // Ten seconds by default.
        "/etc/systemd/logind.conf.d/quick.conf": "[Login]\nUserStopDelaySec=1\n",
      },
    });
    expect((await machine.asRoot("systemctl", "enable", "--now", "model.service")).code).toBe(0);
  }, 240_000);
  afterAll(() => machine?.close());

  test("a user installs the package, sets up an agent, and installs the service with the key of the shell", async () => {
    const inCheckout = (path: string): string => path.replace(repository, "/opt/checkout");
    await machine.asRoot("cp", "-r", inCheckout(`${packageCache}/npm`), "/home/jo/.npm");
    await machine.asRoot("cp", inCheckout(packed.tarball), inCheckout(packed.later.tarball), "/home/jo");
    await machine.asRoot("chown", "-R", "jo:", "/home/jo");
    closeTerminal = openTerminal();
    await typed(`npm config set prefix ~/.local && npm config set offline true
      npm install --global ./postern-${packed.version}.tgz`);
    await typed("git init --quiet ~/code/project && echo '# Project' >~/code/project/README.md");
    await typed(`export ANTHROPIC_API_KEY=${key}
      postern coding setup --yes && postern folder add ~/code --scopes files,coding`);
    await typed(`umask 077 && echo 'ANTHROPIC_BASE_URL="${modelUrl}"' >~/.postern/service.env`);
    expect(await typed(`ANTHROPIC_API_KEY=${key} postern service install --keys`)).toContain("The gateway is running.");
    const file = await typed("cat ~/.config/systemd/user/postern.service");
    expect(file).not.toContain(key);
    expect(await typed("stat -c %a ~/.postern/service.env && cat ~/.postern/service.env")).toMatch(
      new RegExp(`^600\\n[^]*ANTHROPIC_API_KEY="${key}"`),
    );
    expect(await typed("postern service status")).toMatch(/postern\.service: runs \(pid \d+, version .*\), enabled\./);
  });

  test("without lingering, the log-out ends the gateway and its agents; the next login starts it, and the session continues", async () => {
    session = await ask("'say marmalade'");
    expect(session.turns.at(-1)?.text).toBe("marmalade");
    await closeTerminal();
    await expect.poll(() => isThere(session.pid), patience).toBe(false);
    expect(await isHealthy()).toBe(false);
    await expect.poll(managerState, patience).toBe("inactive\n");
    closeTerminal = openTerminal();
    await expect.poll(isHealthy, patience).toBe(true);
    const next = await ask(`--session ${session.sessionId} 'say apricot'`);
    expect(next.turns.at(-1)?.text).toBe("apricot");
  });

  test("with lingering, gateway and agents outlive the log-out", async () => {
    expect((await machine.asRoot("loginctl", "enable-linger", "jo")).code).toBe(0);
    session = await ask(`--session ${session.sessionId} 'say cherry'`);
    expect(session.turns.at(-1)?.text).toBe("cherry");
    await closeTerminal();
    await expect
      .poll(async () => (await machine.asRoot("loginctl", "list-sessions", "--no-legend")).stdout, patience)
      .toBe("");
    await new Promise((done) => setTimeout(done, 2_000));
    expect(await isHealthy()).toBe(true);
    expect(await isThere(session.pid)).toBe(true);
  });

  test("systemd starts a killed gateway again, and it reattaches to the same agent", async () => {
    const { pid } = await unit();
    await typed(`kill -KILL ${pid}`);
    await expect.poll(unit, patience).toMatchObject({ running: true, version: packed.version });
    expect((await unit()).pid).not.toBe(pid);
    const next = await ask(`--session ${session.sessionId} 'say quince'`);
    expect(next).toMatchObject({ pid: session.pid, started: "reconnect" });
    expect(next.turns.at(-1)?.text).toBe("quince");
  });

  test("an upgrade keeps the agent, and `postern service install` restarts the gateway in the new version", async () => {
    const { version } = packed.later;
    await typed(`npm install --global ./postern-${version}.tgz`);
    expect(await typed("postern service status")).toContain(
      `Version ${version} is installed, but ${packed.version} is running.`,
    );
    expect(await typed("postern service install")).toContain(`Replaced version ${packed.version} with ${version}.`);
    expect(await unit()).toMatchObject({ running: true, version });
    const next = await ask(`--session ${session.sessionId} 'say lemon'`);
    expect(next).toMatchObject({ pid: session.pid, started: "reconnect" });
  });

  test("after a reboot the gateway is back before anyone logs in, and the session resumes", async () => {
    await machine.reboot();
    await expect.poll(isHealthy, patience).toBe(true);
    const next = await ask(`--session ${session.sessionId} 'say fig'`);
    expect(next.turns.at(-1)?.text).toBe("fig");
    const read = await typed(`postern coding read ${session.sessionId}`);
    for (const word of ["marmalade", "apricot", "cherry", "quince", "lemon", "fig"]) expect(read).toContain(word);
    session = next;
  });

  test("without its service, the gateway stops and the agent lives on", async () => {
    expect(await typed("postern service uninstall")).toContain("Agents keep running.");
    expect(await isHealthy()).toBe(false);
    expect(await isThere(session.pid)).toBe(true);
    expect(await typed("postern service status", 1)).toContain("No service is installed.");
    expect(await typed("systemctl --user list-unit-files --no-legend 'postern*' || true")).toBe("");
  });

  test("without the command and the state folder nothing of Postern runs or is left", async () => {
    await typed("npm rm --global postern");
    expect(await isThere(session.pid)).toBe(true);
    await typed("rm -r ~/.postern ~/.cache/postern");
    await expect.poll(() => isThere(session.pid), patience).toBe(false);
    const left = await typed(
      "find ~ -name '*postern*' -not -path '*/.npm/*' -not -path '*/.claude/*' | sort; pgrep -af 'node.*[/]postern' || true",
    );
    expect(left).toBe(`/home/jo/postern-${packed.version}.tgz\n/home/jo/postern-${packed.later.version}.tgz\n`);
  });
});
