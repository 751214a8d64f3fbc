import { isIP } from "node:net";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newSecret } from "../core/ids.ts";

/** How long a person has to use a fingerprint, a phone or a security key. */
export const ceremonyLifeMs = 5 * 60_000;
/** Maximum open ceremonies of all callers; the oldest is dropped. Anyone can start a sign-in. */
const maxCeremonies = 10_000;

/** The values that an answer is verified against. */
export interface Ceremony {
  readonly kind: "registration" | "sign-in";
  /** The value that the authenticator signs, base64url. */
  readonly challenge: string;
  /** The site of the page that started it. */
  readonly origin: string;
  readonly rpId: string;
  /** The browser that started a registration; null for a sign-in. */
  readonly browserSessionId: string | null;
}

/** Ceremonies that wait for their answer. They exist in this process only, and each is valid once, for five minutes. */
export interface Ceremonies {
  /** @returns the id of the ceremony */
  begin(ceremony: Ceremony): string;
  /** Consumes the ceremony. @returns null when it is unknown, used or expired */
  take(ceremonyId: string): Ceremony | null;
}

export function createCeremonies(deps: { readonly clock: Pick<Clock, "now">; readonly max?: number }): Ceremonies {
  const { clock, max = maxCeremonies } = deps;
  /** Oldest first: all have the same lifetime. */
  const open = new Map<string, Ceremony & { readonly expiresAt: number }>();

  function makeRoom(): void {
    for (const [id, { expiresAt }] of open) {
      if (expiresAt > clock.now() && open.size < max) return;
      open.delete(id);
    }
  }

  return {
    begin(ceremony) {
      makeRoom();
      const id = newSecret();
      open.set(id, { ...ceremony, expiresAt: clock.now() + ceremonyLifeMs });
      return id;
    },
    take(ceremonyId) {
      const found = open.get(ceremonyId);
      open.delete(ceremonyId); // before the first await, so that two answers cannot use the same ceremony
      return found === undefined || found.expiresAt <= clock.now() ? null : found;
    },
  };
}

/** Where a passkey is valid. */
interface PasskeySite {
  readonly origin: string;
  /** The relying party's id: the host name. @see https://www.w3.org/TR/webauthn-3/#rp-id */
  readonly rpId: string;
}

/**
 * The site of a page that creates or uses a passkey. Passkeys are bound to the gateway's one browser address, and browsers do not
 * support them on IP addresses.
 *
 * @param page `pageOrigin` is the origin of the page, `baseUrl` the gateway's address for people and browsers
 * @throws PosternError `invalid_request` with the address to use instead
 */
export function passkeySite(page: { readonly pageOrigin: string; readonly baseUrl: string }): PasskeySite {
  const base = new URL(page.baseUrl);
  const here = new URL(page.pageOrigin);
  const refuse = (message: string): never => {
    throw new PosternError("invalid_request", message);
  };
  if (isNumbers(base.hostname)) {
    return refuse(
      `Passkeys need a host name, not ${base.hostname}. Set one with \`postern serve --base-url https://…\`.`,
    );
  }
  if (here.origin !== base.origin) {
    const why = isNumbers(here.hostname)
      ? `Passkeys do not work at ${here.hostname}`
      : "Passkeys do not work at this address";
    return refuse(`${why}. Open the gateway at ${base.origin} instead.`);
  }
  return { origin: base.origin, rpId: base.hostname };
}

function isNumbers(hostname: string): boolean {
  return isIP(hostname) !== 0 || hostname.startsWith("[");
}
