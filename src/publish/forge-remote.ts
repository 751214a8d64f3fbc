import type { GitStatus } from "../wire/publish.ts";
import type { UserGit } from "./user-git.ts";

/** A repository on a forge, as a remote's URL names it. */
export interface ForgeRepository {
  /** In lower case, without the port. */
  readonly host: string;
  /** The origin of its pages, if the URL is `http` or `https`. */
  readonly origin: string | null;
  /** For example `owner/name`. */
  readonly path: string;
}

/** Hosts whose SSH servers or pages have another name. */
const aliases: Readonly<Record<string, string>> = {
  "ssh.github.com": "github.com",
  "www.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
};

/** @returns null for a path, and for whatever could be read as an option or a parameter */
export function parseRemoteUrl(url: string): ForgeRepository | null {
  const parsed = url.includes("://") ? URL.parse(url) : null;
  if (parsed !== null && !/^(https?|ssh|git|git\+ssh|ssh\+git):$/.test(parsed.protocol)) return null;
  if (parsed !== null && parsed.search + parsed.hash !== "") return null;
  // Like scp: `git@github.com:owner/name.git`.
  const [, scpHost, scpPath] = url.includes("://") ? [] : (/^(?:[^/@:]+@)?([^/@:]+):(.+)$/.exec(url) ?? []);
  const host = (parsed?.hostname ?? scpHost ?? "").toLowerCase();
  const path = (parsed?.pathname ?? scpPath ?? "").replace(/^\/+|\/+$/g, "").replace(/\.git$/, "");
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(host)) return null;
  const names = path.split("/");
  if (names.length < 2 || names.some((name) => !/^[\w.-]+$/.test(name) || /^\.+$/.test(name))) return null;
  const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  return { host: aliases[host] ?? host, origin: isWeb ? (parsed?.origin ?? null) : null, path };
}

/**
 * The repository that a remote is pushed to. The URL as configured counts first: `url.….insteadOf` can lead to a mirror. Null if neither
 * names a forge's repository.
 */
export async function repositoryOf(git: UserGit, root: string, remote: string): Promise<ForgeRepository | null> {
  for (const args of [
    ["config", "--get", `remote.${remote}.pushurl`],
    ["config", "--get", `remote.${remote}.url`],
    ["remote", "get-url", "--push", "--", remote],
  ]) {
    const url = await git.lineOf(args, { root });
    const repository = url === null ? null : parseRemoteUrl(url);
    if (repository !== null) return repository;
  }
  return null;
}

/** The remote that pull requests go to: the one set with `gh repo set-default`, or that of the base branch; null if the base branch is local. */
export async function baseRemoteOf(git: UserGit, { root, base, remotes }: GitStatus): Promise<string | null> {
  for (const remote of remotes) {
    const resolved = await git.lineOf(["config", "--get", `remote.${remote}.gh-resolved`], { root });
    if (resolved === "base") return remote;
  }
  const [longest] = remotes
    .filter((remote) => base?.name.startsWith(`${remote}/`) === true)
    .toSorted((one, other) => other.length - one.length);
  return longest ?? null;
}
