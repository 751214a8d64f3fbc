import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The page that the scripted logins open. */
export const loginAddress = `https://login.example/oauth/authorize?client_id=${"9d1c250a".repeat(12)}&state=scripted`;

/** A user's machine: programs that report version and login as the agents do, and an npm that installs one of them. */
export interface ScriptedMachine {
  readonly root: string;
  /** A folder for PATH. */
  readonly bin: string;
  /** As after a login. */
  logIn(name: "claude" | "codex"): Promise<void>;
  /** Content of a file in the root; empty when there is none. */
  fileText(name: string): Promise<string>;
}

/**
 * `codex` is also at `elsewhere/codex`. What npm was called with is in `npm-calls`; it fails while there is a file `npm-fails`, and waits
 * while there is one named `npm-waits`.
 */
export async function makeScriptedMachine(
  root: string,
  installed: readonly ("claude" | "codex")[] = ["claude", "codex"],
): Promise<ScriptedMachine> {
  const bin = join(root, "bin");
  await mkdir(bin, { recursive: true });
  const state = (name: string): string => join(root, `${name}-login`);
  const agents = { claude: claudeScript(state("claude")), codex: codexScript(state("codex")) };
  for (const name of installed) await program(join(bin, name), agents[name]);
  await program(join(root, "codex.sh"), agents.codex);
  await program(join(root, "elsewhere", "codex"), agents.codex);
  await program(
    join(bin, "npm"),
    `echo "npm $*" >>"${root}/npm-calls"
echo "npm $*"
[ -e "${root}/npm-fails" ] && { echo "npm error E404 key:$OPENAI_API_KEY"; exit 1; }
while [ -e "${root}/npm-waits" ]; do /bin/sleep 0.1; done
/bin/cp "${root}/codex.sh" "${bin}/codex"
echo "added 1 package"`,
  );
  return {
    root,
    bin,
    logIn: (name) => writeFile(state(name), ""),
    fileText: (name) => readFile(join(root, name), "utf8").catch(() => ""),
  };
}

async function program(path: string, script: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

const logInScript = (state: string): string =>
  `printf 'Visit: ${loginAddress}\\nCode from the browser: '; read code; [ "$code" = 1234 ] && : >"${state}" && echo "Welcome." || exit 1`;

function claudeScript(state: string): string {
  return `case "$*" in
--version) echo 2.1.300 ;;
"auth status") [ -e "${state}" ] && echo '{"loggedIn":true}' || { echo '{"loggedIn":false}'; exit 1; } ;;
"auth login") ${logInScript(state)} ;;
esac`;
}

function codexScript(state: string): string {
  return `case "$*" in
--version) echo codex-cli 0.160.0 ;;
"login status") [ -e "${state}" ] ;;
login | "login --device-auth") ${logInScript(state)} ;;
esac`;
}
