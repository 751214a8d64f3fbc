import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sha256 } from "../core/ids.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Commands that a person waits for at a key press, such as shell completion, load only this file, not the configuration. */
export const processEnvironment: Environment = process.env;

// The path of a Unix socket has at most 108 bytes on Linux and 104 on macOS, with a final NUL; our longest file name has 12.
const longestRunDirBytes = 90;

/** The target of a restore, from the environment alone, without `config.json`. */
export function stateFolder(env: Environment = processEnvironment): {
  readonly home: string;
  readonly databaseUrl: string | null;
} {
  return {
    home: resolve(env["POSTERN_HOME"] || join(homedir(), ".postern")),
    databaseUrl: env["POSTERN_DATABASE_URL"] || null,
  };
}

/** The folder of the Unix sockets. */
export function runFolder(home: string, env: Environment = processEnvironment): string {
  const own = join(home, "run");
  if (Buffer.byteLength(own) <= longestRunDirBytes) return own;
  const name = `postern-${sha256(home).slice(0, 16)}`;
  return join(env["XDG_RUNTIME_DIR"] || tmpdir(), name);
}

/** The Unix socket for the owner's requests. */
export function gatewaySocketPath({ runDir }: { readonly runDir: string }): string {
  return join(runDir, "gateway.sock");
}
