import { fileURLToPath } from "node:url";

/**
 * The one hook command of every session, as a shell line that agents run: this Node and the fixed script, nothing else. It does
 * not vary with the session, so that an agent that remembers what it trusts (Codex) is asked once.
 */
export function hookCommand(node: string = process.execPath): string {
  return `${shellQuoted(node)} ${shellQuoted(fileURLToPath(new URL("./hook.mjs", import.meta.url)))}`;
}

/** In double quotes where that is safe in every shell, else in single ones. */
function shellQuoted(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? `"${path}"` : `'${path.replaceAll("'", `'\\''`)}'`;
}
