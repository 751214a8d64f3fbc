import { mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

/**
 * The folder in which all processes of all tests keep what they compiled: without it each compiles the whole house again, which takes
 * longer than most of what it is started for. One for each user, since it is its owner's alone.
 */
export function sharedCompileCache(): string {
  const folder = join(tmpdir(), `postern-test-compile-cache-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
