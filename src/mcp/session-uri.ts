/** The resource of a session, as RFC 6570 writes it. */
export const sessionUriTemplate = "postern://sessions/{sessionId}";

/** The address of a session as a resource. */
export function sessionUri(sessionId: string): string {
  return `postern://sessions/${encodeURIComponent(sessionId)}`;
}

/** The id in such an address; null when it is no such address. */
export function sessionIdOf(uri: string): string | null {
  const [, encoded = ""] = /^postern:\/\/sessions\/([^/?#]{1,600})$/.exec(uri) ?? [];
  try {
    return encoded === "" ? null : decodeURIComponent(encoded);
  } catch {
    return null; // half an escape
  }
}
