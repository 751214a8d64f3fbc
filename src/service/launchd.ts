import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
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

const label = "dev.postern.gateway";

/** A launchd user agent. */
export function createLaunchdManager(
  spec: ServiceSpec,
  { run, userId }: { readonly run: RunManager; readonly userId: number },
): ServiceManager {
  const path = join(spec.userHome, "Library", "LaunchAgents", `${label}.plist`);
  const log = join(spec.userHome, "Library", "Logs", "postern.log");
  const domain = `gui/${userId}`;
  const service = `${domain}/${label}`;

  async function requireSession(): Promise<void> {
    const { exitCode, stderr } = await run("print", domain);
    if (exitCode === 0) return;
    throw new PosternError(
      "service_manager_missing",
      `There is no launchd session for this user${stderr.trim() === "" ? "" : ` (${stderr.trim().split("\n")[0]})`}. Log in to the Mac's desktop once, or run \`postern serve\` manually.`,
    );
  }

  return {
    path,
    text: propertyList(spec, log),
    showLog: `tail ${log}`,
    async install({ restart }) {
      await requireSession();
      await mkdir(dirname(log), { recursive: true });
      const changed = await writeWhenChanged(path, propertyList(spec, log));
      const loaded = (await run("print", service)).exitCode === 0;
      if (loaded && changed) await must(run, "bootout", service);
      await must(run, "enable", service);
      if (!loaded || changed) await must(run, "bootstrap", domain, path);
      else await must(run, "kickstart", ...(restart ? ["-k"] : []), service);
      return { changed, hints: [`Show its log: tail -f ${log}`] };
    },
    async uninstall() {
      await requireSession();
      if ((await run("print", service)).exitCode === 0) await must(run, "bootout", service);
      return { removed: await removeFile(path) };
    },
    async stop() {
      await must(run, "kill", "SIGTERM", service); // it exits with 0, so that KeepAlive does not start it again
      return `launchctl kill SIGTERM ${service}`;
    },
    async status() {
      await requireSession();
      const { exitCode, stdout } = await run("print", service);
      const pid = Number(/^\s*pid = (\d+)$/m.exec(stdout)?.[1] ?? 0);
      const installed = (await readOrNull(path)) !== null;
      const running = exitCode === 0 && pid > 0;
      return { manager: "launchd", path, installed, enabled: exitCode === 0, running, pid: running ? pid : null };
    },
  };
}

/** AbandonProcessGroup: the terminal host and its agents outlive the gateway. */
function propertyList(spec: ServiceSpec, log: string): string {
  const environment = Object.entries(spec.environment).map(
    ([name, value]) => `    <key>${xml(name)}</key>\n    ${text(value)}`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Postern ${xml(spec.version)} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(label)}
  <key>ProgramArguments</key>
  <array>
${argvOf(spec)
  .map((part) => `    ${text(part)}`)
  .join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${environment.join("\n")}
  </dict>
  <key>WorkingDirectory</key>
  ${text(spec.userHome)}
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>ExitTimeOut</key>
  <integer>20</integer>
  <key>StandardOutPath</key>
  ${text(log)}
  <key>StandardErrorPath</key>
  ${text(log)}
</dict>
</plist>
`;
}

function text(value: string): string {
  return `<string>${xml(value)}</string>`;
}

function xml(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
