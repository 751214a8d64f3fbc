import { findExecutable } from "../platform/executables.ts";
import { runCommand } from "../platform/run-command.ts";
import type { Finding } from "../wire/doctor.ts";
import { ok, warning } from "./finding.ts";

/** Has `gh auth token`. */
const oldestGh = [2, 17] as const;
/** `gh auth status` asks each host. Less than the limit of a check. */
const timeoutMs = 8_000;

/** Version and logins of `gh`, which only pull requests need: no finding without it. @param env the user's environment */
export async function checkGh(
  pathVariable: string,
  env: Readonly<Record<string, string>>,
): Promise<readonly Finding[]> {
  const program = await findExecutable("gh", pathVariable);
  if (program === null) return [];
  const options = { env: { ...env, NO_COLOR: "1", GH_PROMPT_DISABLED: "1", GH_NO_UPDATE_NOTIFIER: "1" }, timeoutMs };
  const version = await runCommand([program, "--version"], options);
  const [text, major = "0", minor = "0"] = /(\d+)\.(\d+)[\d.]*/.exec(version.stdout) ?? [];
  if (version.exitCode !== 0 || text === undefined) {
    return [warning("gh", `${program} does not print its version. Pull requests need it.`, null)];
  }
  const what = `gh ${text} (${program})`;
  if (Number(major) < oldestGh[0] || (Number(major) === oldestGh[0] && Number(minor) < oldestGh[1])) {
    return [warning("gh", `${what} is too old for pull requests. Install ${oldestGh.join(".")} or newer.`, null)];
  }
  const { exitCode, stdout, stderr } = await runCommand([program, "auth", "status"], options);
  const hosts = new Set(
    [...`${stdout}${stderr}`.matchAll(/Logged in to ([a-z0-9.-]+)/gi)].map(([, host = ""]) => host),
  );
  if (exitCode === 0) return [ok("gh", `${what}, logged in to ${[...hosts].join(", ")}.`)];
  if (hosts.size > 0 || exitCode === null) {
    return [ok("gh", `${what}. It cannot confirm its login: run \`gh auth status\`. Only pull requests need it.`)];
  }
  return [ok("gh", `${what}, not logged in. Only pull requests need it: run \`gh auth login\`.`)];
}
