import { join } from "node:path";
import { PosternError } from "../core/errors.ts";
import {
  argvOf,
  must,
  type RunManager,
  readOrNull,
  removeFile,
  type ServiceManager,
  type ServiceSpec,
  writeWhenChanged,
} from "./service.ts";

const unit = "postern.service";

/** A unit of the user's own systemd. @param configHome where the user's configuration lies: `XDG_CONFIG_HOME`, or `~/.config` */
export function createSystemdManager(
  spec: ServiceSpec,
  { run, configHome, userName }: { readonly run: RunManager; readonly configHome: string; readonly userName: string },
): ServiceManager {
  const path = join(configHome, "systemd", "user", unit);
  const systemctl: RunManager = (...args) => run("--user", ...args);

  async function properties(...names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { exitCode, stdout, stderr } = await systemctl("show", unit, ...names.map((name) => `--property=${name}`));
    if (exitCode !== 0) throw noSession(stderr);
    return new Map(stdout.split("\n").map((line) => [line.split("=", 1)[0] ?? "", line.slice(line.indexOf("=") + 1)]));
  }

  return {
    path,
    text: unitFile(spec),
    async install({ restart }) {
      await properties("LoadState"); // before anything is written
      const changed = await writeWhenChanged(path, unitFile(spec));
      if (changed) await must(systemctl, "daemon-reload");
      await must(systemctl, "enable", unit);
      await must(systemctl, changed || restart ? "restart" : "start", unit);
      return {
        changed,
        hints: [
          `It ends when you log out, unless: loginctl enable-linger ${userName}`,
          `Its log: journalctl --user --unit=${unit} --follow`,
        ],
      };
    },
    async uninstall() {
      const known = await properties("LoadState");
      if (known.get("LoadState") !== "not-found") await must(systemctl, "disable", "--now", unit);
      const removed = await removeFile(path);
      if (removed) await must(systemctl, "daemon-reload");
      return { removed };
    },
    async status() {
      const found = await properties("UnitFileState", "ActiveState", "MainPID");
      const pid = Number(found.get("MainPID") ?? 0);
      return {
        manager: "systemd",
        path,
        installed: (await readOrNull(path)) !== null,
        enabled: found.get("UnitFileState") === "enabled",
        running: found.get("ActiveState") === "active",
        pid: pid > 0 ? pid : null,
      };
    },
  };
}

function noSession(said: string): PosternError {
  const words = said.trim().split("\n")[0] ?? "";
  return new PosternError(
    "service_manager_missing",
    `There is no systemd for this user here${words === "" ? "" : ` (${words})`}. Log in as this user itself (not with su or sudo), or after \`sudo loginctl enable-linger $USER\`; where there is no systemd, as in a container, run \`postern serve\` by what starts programs there.`,
  );
}

/**
 * KillMode=process: a stop or restart ends the gateway alone; the terminal host and the agents under it live on in the unit's group.
 * OOMPolicy=continue: an agent that took too much memory does not take the gateway along.
 */
function unitFile(spec: ServiceSpec): string {
  const environment = Object.entries(spec.environment).map(
    ([name, value]) => `Environment=${quoted(`${name}=${value}`)}`,
  );
  return `[Unit]
Description=Postern, a private gate to the coding agents of this machine
X-Postern-Version=${spec.version}

[Service]
Type=exec
ExecStart=${argvOf(spec)
    .map((part) => quoted(part).replaceAll("$", "$$$$"))
    .join(" ")}
${environment.join("\n")}
WorkingDirectory=${spec.userHome.replaceAll("%", "%%")}
KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=2
TimeoutStopSec=20

[Install]
WantedBy=default.target
`;
}

/** Text in systemd's own quotes; `%` begins a specifier. @see systemd.syntax(7) */
function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;
}
