import { isIP } from "node:net";
import { PosternError } from "../core/errors.ts";

/** Where a passkey is good. */
export interface PasskeySite {
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
  const refuse = (words: string): never => {
    throw new PosternError("invalid_request", words);
  };
  if (isNumbers(base.hostname)) {
    return refuse(
      `Browsers keep passkeys for names, not for ${base.hostname}. Give the gateway one: \`postern serve --base-url https://…\`.`,
    );
  }
  if (here.origin !== base.origin) {
    const why = isNumbers(here.hostname)
      ? `Browsers keep no passkeys for ${here.hostname}`
      : "Passkeys are not for here";
    return refuse(`${why}: open the gateway at ${base.origin} instead.`);
  }
  return { origin: base.origin, rpId: base.hostname };
}

function isNumbers(hostname: string): boolean {
  return isIP(hostname) !== 0 || hostname.startsWith("[");
}
