/** An app of this machine listens on another port each time (RFC 8252 section 7.3). */
const thisMachine = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Where the browser goes from here, as a consent page names it: a host, or the scheme of an app of the machine. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return protocol === "http:" || protocol === "https:" ? host : protocol;
}

/** Whether two destinations are one for who lets an app in: the same host or scheme, this machine by any port, or none twice. */
export function samePlace(one: unknown, other: string | null): boolean {
  if (typeof one !== "string" || other === null) return one === other;
  return one === other || (thisMachine.test(one) && thisMachine.test(other));
}
