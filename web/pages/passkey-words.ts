import { PosternClientError } from "../../src/client/index.ts";
import { messageOf } from "../api/api-error.ts";

export interface PasskeyObstacle {
  readonly words: string;
  /** The same page where passkeys work; null if unknown. */
  readonly elsewhere: string | null;
}

const loopback = /^(127\.\d+\.\d+\.\d+|\[::1\])$/;
const numbers = /^(\d+\.\d+\.\d+\.\d+|\[[\d:a-f.]+\])$/i;

/** Why passkeys do not work at `href`; null if they do. They require a host name: https://www.w3.org/TR/webauthn-3/#rp-id */
export function passkeyObstacle(props: {
  readonly href: string;
  /** The gateway's public address, if known: its passkeys belong there. */
  readonly baseUrl?: string | null;
  readonly secure: boolean;
  readonly supported: boolean;
}): PasskeyObstacle | null {
  const { href, baseUrl = null, secure, supported } = props;
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

export function obstacleHere(baseUrl: string | null = null): PasskeyObstacle | null {
  return passkeyObstacle({
    baseUrl,
    href: window.location.href,
    secure: window.isSecureContext,
    supported: "PublicKeyCredential" in window,
  });
}

/** The gateway's message, or an explanation of the browser's error. */
export function passkeyProblem(error: unknown): string {
  if (error instanceof PosternClientError || !(error instanceof Error)) return messageOf(error);
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
