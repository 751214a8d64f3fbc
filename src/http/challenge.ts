import type { Audience } from "../accounts/index.ts";
import { defaultAppScopes } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";

/** Of a refused request what its challenge depends on. */
export interface ChallengedRequest {
  /** The gateway's own origin, as the request names it; null where there is none, as on the owner's socket. */
  readonly origin: string | null;
  readonly audience: Audience;
  /** Without one, the challenge names no error. */
  readonly showedToken: boolean;
}

/**
 * The value of `WWW-Authenticate`. It leads a client that knows nothing to the metadata of what it wanted to reach, and from there to the
 * authorization server.
 *
 * @param refusal `error` of RFC 6750; `scope` is what would be enough. At `/mcp` the challenge of a client that is not signed in names the scopes to ask for.
 * @see RFC 6750 section 3, RFC 9728 section 5.1
 */
export function challenge(
  { origin, audience, showedToken }: ChallengedRequest,
  refusal: { readonly error?: unknown; readonly scope?: unknown },
): string {
  const { error, scope = audience === "mcp" ? defaultAppScopes.join(" ") : undefined } = refusal;
  const parts = ['Bearer realm="postern"'];
  if (typeof error === "string" && showedToken) parts.push(`error="${error}"`);
  if (typeof scope === "string") parts.push(`scope="${scope}"`);
  if (origin !== null) parts.push(`resource_metadata="${metadataUrl(origin, audience)}"`);
  return parts.join(", ");
}

/** @see RFC 9728 section 3.1: the path of the resource follows the well-known one */
function metadataUrl(origin: string, audience: Audience): string {
  return `${origin}${oauthPaths.protectedResource}${audience === "mcp" ? oauthPaths.mcp : ""}`;
}
