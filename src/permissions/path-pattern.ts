/** Places where only people, Git and the agents' own settings write: a file there runs code later, or changes what an agent may do. */
const guardedNames: ReadonlySet<string> = new Set(
  (
    ".git .claude .claude.json .codex .agents .gemini .opencode .mcp.json .husky .githooks .vscode .idea .devcontainer .envrc .npmrc .yarnrc " +
    ".yarnrc.yml .pnpmfile.cjs .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin " +
    ".zlogout .kshrc .cshrc .tcshrc .inputrc .gitconfig .gitmodules .gitattributes .ssh .gnupg .aws .kube .docker .netrc .pgpass .config " +
    ".local .pam_environment .xprofile .xinitrc .xsession .direnv .mise.toml .tool-versions opencode.json opencode.jsonc " +
    ".hg .svn .jj .cargo .yarn .bundle .gradle .pre-commit-config.yaml lefthook.yml .lefthook.yml .cursor .zed .exrc .vimrc .nvimrc .nvim.lua " +
    ".vim .emacs .emacs.d .dir-locals.el .gdbinit .lldbinit .pdbrc .irbrc .pryrc .rprofile .curlrc .wgetrc .psqlrc .sqliterc .screenrc " +
    ".tmux.conf .login .git-credentials"
  ).split(" "),
);

/** Whether a path, given by its parts, contains a name that no standing rule covers. */
export function isGuarded(parts: readonly string[]): boolean {
  // Some file systems ignore invisible characters in names.
  return parts.some((part) => /\p{C}/u.test(part) || guardedNames.has(part.toLowerCase()));
}

/** Characters of a pattern that would mean something else in other glob dialects. */
const unclear = /[?[\]{}!\\~\p{C}\p{Zl}\p{Zp}]/u;

/** The most `**` in one pattern. Each one makes matching slower. */
const maxDeep = 3;

/** @returns why a pattern is invalid; null for a valid one */
export function pathPatternProblem(pattern: string): string | null {
  if (unclear.test(pattern)) return "A file pattern has only names, `*`, `**` and `/`.";
  const parts = pattern.split("/");
  if (pattern.startsWith("/")) return "A file pattern is relative to its folder, so it cannot start with `/`.";
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    return "A file pattern has no empty parts, `.` or `..`.";
  }
  if (parts.some((part) => part !== "**" && part.includes("**"))) return "`**` must be a whole part between slashes.";
  if (parts.filter((part) => part === "**").length > maxDeep) return `A file pattern has at most ${maxDeep} \`**\`.`;
  if (isGuarded(parts)) return "No rule covers Git's own files, settings of agents and tools, or shell startup files.";
  return null;
}

/** Why a pattern must be confirmed by repeating it (it covers every file); null if it need not be. */
export function pathBreadth(pattern: string): string | null {
  return pattern.split("/").every((part) => /^[*.]+$/.test(part)) ? "It covers every file of the folder." : null;
}

/** @param parts of a resolved path below the rule's folder */
export function matchesPath(pattern: string, parts: readonly string[]): boolean {
  return !isGuarded(parts) && matchesPattern(pattern, parts);
}

/** Like {@link matchesPath}, but also matches paths that no rule allows. */
export function matchesPattern(pattern: string, parts: readonly string[]): boolean {
  return matches(pattern.split("/"), parts);
}

/** Matches without backtracking: `reached` has the possible numbers of parts matched so far. */
function matches(pattern: readonly string[], parts: readonly string[]): boolean {
  let reached: ReadonlySet<number> = new Set([0]);
  for (const [index, piece] of pattern.entries()) {
    const next = new Set<number>();
    if (piece === "**") {
      // The last `**` covers files, not the folder itself.
      const least = index === pattern.length - 1 ? 1 : 0;
      for (let used = Math.min(...reached) + least; used <= parts.length; used += 1) next.add(used);
    } else {
      for (const used of reached) {
        const name = parts[used];
        if (name !== undefined && matchesName(piece, name)) next.add(used + 1);
      }
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(parts.length);
}

/** Matches without backtracking: finds the parts between stars from left to right. */
function matchesName(pattern: string, name: string): boolean {
  const pieces = pattern.split("*");
  const [start = "", ...others] = pieces;
  const end = others.pop();
  if (end === undefined) return name === pattern;
  if (!name.startsWith(start) || name.length < start.length + end.length || !name.endsWith(end)) return false;
  let from = start.length;
  const limit = name.length - end.length;
  for (const piece of others) {
    const found = name.indexOf(piece, from);
    if (found === -1 || found + piece.length > limit) return false;
    from = found + piece.length;
  }
  return true;
}
