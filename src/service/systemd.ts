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
const showLog = `journalctl --user --unit=${unit}`;

/** A systemd user unit. @param configHome `XDG_CONFIG_HOME`, or `~/.config` */
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
    showLog,
    async install({ restart }) {
      await properties("LoadState"); // before anything is written
      const changed = await writeWhenChanged(path, unitFile(spec));
      if (changed) await must(systemctl, "daemon-reload");
      await must(systemctl, "enable", unit);
      await must(systemctl, changed || restart ? "restart" : "start", unit);
      return {
        changed,
        hints: [
          `To keep it running after you log out: loginctl enable-linger ${userName} (with sudo if access is denied)`,
          `Show its log: ${showLog} --follow`,
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
    async stop() {
      await must(systemctl, "stop", unit);
      return `systemctl --user stop ${unit}`;
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

function noSession(output: string): PosternError {
  const reason = output.trim().split("\n")[0] ?? "";
  return new PosternError(
    "service_manager_missing",
    `systemd is not available for this user${reason === "" ? "" : ` (${reason})`}. Log in directly as this user (not with su or sudo), or run \`sudo loginctl enable-linger $USER\` and log in again. In a container, run \`postern serve\` directly.`,
  );
}

/**
 * KillMode=process: a stop or restart ends only the gateway; the terminal host and its agents keep running.
 * OOMPolicy=continue: the gateway survives an agent that runs out of memory.
 */
function unitFile(spec: ServiceSpec): string {
  const environment = Object.entries(spec.environment).map(
    ([name, value]) => `Environment=${quoted(`${name}=${value}`)}`,
  );
  return `[Unit]
Description=Postern, remote control for coding agents
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

/** @see systemd.syntax(7): `%` starts a specifier */
function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;
}
