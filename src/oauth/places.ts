import { z } from "zod";

/** An app of this machine listens on another port each time (RFC 8252 section 7.3). */
const thisMachine = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Where the browser goes from here, as a consent page names it: a host, or the scheme of an app of the machine. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return protocol === "http:" || protocol === "https:" ? host : protocol;
}

/** What was allowed, and where to. */
export interface GivenGrant {
  readonly scopes: readonly string[];
  /** Host or scheme of the redirect; null for a device. */
  readonly host: string | null;
}

const grantPayloadSchema = z.looseObject({
  host: z.string().nullable().optional(),
  resources: z.record(z.string(), z.string()).default({}),
});

/**
 * Whether an older grant of the same client allowed something that is not allowed now at the same place (this machine by any port is one):
 * whoever allows less than before means that. One that allowed no more stays: the same app may be let in from two machines.
 *
 * @param older the payload of its record, as JSON
 */
export function isTakenBack(older: string, now: GivenGrant): boolean {
  const { host = null, resources } = grantPayloadSchema.parse(JSON.parse(older));
  if (!samePlace(host, now.host)) return false;
  const allowed = Object.values(resources).flatMap((scopes) => scopes.split(" "));
  return allowed.some((scope) => !now.scopes.includes(scope));
}

/** Whether a host is this machine, which has several names and any port. */
export function isThisMachine(host: string): boolean {
  return thisMachine.test(host);
}

function samePlace(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  return one === other || (isThisMachine(one) && isThisMachine(other));
}
