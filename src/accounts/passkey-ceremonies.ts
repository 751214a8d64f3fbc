import { isIP } from "node:net";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newSecret } from "../core/ids.ts";

/** How long a person may take to find a finger, a phone or a security key. */
export const ceremonyLifeMs = 5 * 60_000;
/** Open ones of all callers; the oldest goes. Anybody may begin to sign in. */
const maxCeremonies = 10_000;

/** What an answer is held against. */
export interface Ceremony {
  readonly kind: "registration" | "sign-in";
  /** What the authenticator signs, base64url. */
  readonly challenge: string;
  /** Of the page that began it. */
  readonly origin: string;
  readonly rpId: string;
  /** The browser that began a registration; null for a sign-in. */
  readonly browserSessionId: string | null;
}

/** Ceremonies that began and whose answer did not come yet: in this process alone, each good once, for five minutes. */
export interface Ceremonies {
  /** @returns what names it */
  begin(ceremony: Ceremony): string;
  /** Uses it up. @returns null when it is unknown, used or too old */
  take(ceremonyId: string): Ceremony | null;
}

export function createCeremonies(deps: { readonly clock: Pick<Clock, "now">; readonly max?: number }): Ceremonies {
  const { clock, max = maxCeremonies } = deps;
  /** Oldest first: all live equally long. */
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
      open.delete(ceremonyId); // before anything is awaited: two answers to one ceremony are one too many
      return found === undefined || found.expiresAt <= clock.now() ? null : found;
    },
  };
}

/** Where a passkey is good. */
interface PasskeySite {
  readonly origin: string;
  /** The relying party's id: the name in the address. @see https://www.w3.org/TR/webauthn-3/#rp-id */
  readonly rpId: string;
}

/**
 * The site of a page that wants to make or use a passkey: passkeys are made for the gateway's one address for browsers, and browsers keep
 * none for addresses of numbers.
 *
 * @param page `pageOrigin` where the page is, `baseUrl` the gateway's address for people and browsers
 * @throws PosternError `invalid_request`, saying where it would work
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
