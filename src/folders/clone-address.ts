import { PosternError } from "../core/errors.ts";

/** The source of a clone. */
export interface CloneAddress {
  /** For Git, without credentials. */
  readonly url: string;
  /** The path of a repository on this machine; null for a remote one. */
  readonly localPath: string | null;
  /** The value of `GIT_ALLOW_PROTOCOL`: Git uses no others, also after a redirect. */
  readonly protocols: string;
  /** Sent to this origin only. Git gets it in its environment, because every user of the machine can read command lines. */
  readonly login: { readonly origin: string; readonly header: string; readonly secret: string } | null;
  /** The last part of the address, as the name of a directory; empty if there is none. */
  readonly name: string;
}

const remote = "https:http:ssh";
/** `user@host:path`; no part can be read as an option. */
const scpForm = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?![:/]{2})[^-:][^:]*$/;

/** @throws PosternError `invalid_request` for anything but a plain address: for other addresses, such as `ext::`, Git would run programs */
export function parseCloneAddress(given: string): CloneAddress {
  if (/[\s\p{Cc}]/u.test(given) || given.startsWith("-") || /^[A-Za-z0-9+.-]*::/.test(given)) throw refused();
  if (given.startsWith("/")) return local(given);
  if (scpForm.test(given) && !given.includes("://")) {
    return { url: given, localPath: null, protocols: remote, login: null, name: nameIn(given) };
  }
  if (!URL.canParse(given)) throw refused();
  const url = new URL(given);
  if (url.protocol === "file:") {
    if (url.host !== "" && url.host !== "localhost") throw refused();
    return local(decoded(url.pathname));
  }
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  if (!isWeb && url.protocol !== "ssh:") throw refused();
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (!/^[A-Za-z0-9[]/.test(url.hostname) || user.startsWith("-") || url.pathname.length < 2) throw refused();
  if (!isWeb && password !== "") throw refused("An `ssh:` address cannot have a password. Use a key.");
  if (isWeb) [url.username, url.password] = ["", ""];
  url.hash = "";
  const login = isWeb && user + password !== "" ? loginTo(url.origin, user, password) : null;
  return { url: url.href, localPath: null, protocols: remote, login, name: nameIn(url.pathname) };
}

function local(path: string): CloneAddress {
  if (!path.startsWith("/") || /[\p{Cc}]/u.test(path)) throw refused();
  return { url: path, localPath: path, protocols: "file", login: null, name: nameIn(path) };
}

function loginTo(origin: string, user: string, password: string): CloneAddress["login"] {
  const header = `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return { origin, header, secret: password === "" ? user : password };
}

function nameIn(path: string): string {
  const last = path.replace(/\/+$/, "").split(/[/:]/).at(-1) ?? "";
  const name = decoded(last).replace(/\.git$/, "");
  return /^(?![.-])[^/\\\p{C}]{1,200}$/u.test(name) ? name : "";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused();
  }
}

function refused(
  message = "This is not an address that can be cloned. Use an `https:` or `ssh:` URL, `user@host:path`, or an absolute path.",
): PosternError {
  return new PosternError("invalid_request", message);
}
