import { ApiError, messageOf } from "../api/api-error.ts";

/** Why there can be no passkey on a page, and where it could be instead. */
export interface PasskeyObstacle {
  readonly words: string;
  /** The same page where passkeys work; null when this page cannot know. */
  readonly elsewhere: string | null;
}

const loopback = /^(127\.\d+\.\d+\.\d+|\[::1\])$/;
const numbers = /^(\d+\.\d+\.\d+\.\d+|\[[\d:a-f.]+\])$/i;

/**
 * What keeps a browser from passkeys on the page at `href`; null when nothing does.
 * @see https://www.w3.org/TR/webauthn-3/#rp-id a passkey belongs to a name, never to an address of numbers
 */
export function passkeyObstacle({
  href,
  baseUrl = null,
  secure,
  supported,
}: {
  readonly href: string;
  /** The gateway's address for people, where it is known: its passkeys belong there. */
  readonly baseUrl?: string | null;
  readonly secure: boolean;
  readonly supported: boolean;
}): PasskeyObstacle | null {
  const here = new URL(href);
  const base = baseUrl === null ? null : new URL(baseUrl);
  if (base !== null && base.origin !== here.origin && !numbers.test(base.hostname)) {
    const elsewhere = new URL(`${here.pathname}${here.search}`, base).href;
    return { words: `Passkeys work only at ${base.origin}.`, elsewhere };
  }
  if (loopback.test(here.hostname)) {
    const { hostname } = here;
    here.hostname = "localhost";
    here.hash = "";
    return { words: `Passkeys need a host name and do not work at ${hostname}.`, elsewhere: here.href };
  }
  if (numbers.test(here.hostname)) {
    return {
      words: `Passkeys need a host name and do not work at ${here.hostname}. Give the gateway a name and https.`,
      elsewhere: null,
    };
  }
  if (!secure) return { words: "Passkeys need https or localhost.", elsewhere: null };
  if (!supported) return { words: "This browser does not support passkeys.", elsewhere: null };
  return null;
}

/** {@link passkeyObstacle} of the page that is open. */
export function obstacleHere(baseUrl: string | null = null): PasskeyObstacle | null {
  return passkeyObstacle({
    baseUrl,
    href: window.location.href,
    secure: window.isSecureContext,
    supported: "PublicKeyCredential" in window,
  });
}

/** What became of a ceremony that failed: the gateway's words, or what a browser means by its error's name. */
export function passkeyProblem(error: unknown): string {
  if (error instanceof ApiError || !(error instanceof Error)) return messageOf(error);
  switch (error.name) {
    case "NotAllowedError":
      return "No passkey was used: the request was dismissed or timed out, or this device has no passkey for this gateway.";
    case "InvalidStateError":
      return "This device already has a passkey for this account.";
    case "SecurityError":
      return "The browser refuses passkeys at this address. Open the gateway at its configured address.";
    case "AbortError":
      return "The browser cancelled. Try again.";
    default:
      return error.message;
  }
}
