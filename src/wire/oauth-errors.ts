/**
 * Every `error` that the authorization server tells a client, and what to do about it, in HTML.
 * @see RFC 6749 sections 4.1.2.1 and 5.2, RFC 7591 section 3.2.2, RFC 8628 section 3.5, RFC 8707 section 2
 */
export const oauthErrors = [
  ["access_denied", "The owner did not allow it, or nothing of what the app asked for can be allowed. Ask again."],
  [
    "invalid_request",
    "The app's request is not complete or contradicts itself. Public clients must send a challenge with <code>S256</code> (RFC 7636).",
  ],
  ["invalid_scope", "The app asked for a scope that there is not. Its metadata document lists those that there are."],
  [
    "invalid_target",
    "The app asked for access to something that is not this gateway (RFC 8707). Its address is the gateway's own, or that with <code>/mcp</code>.",
  ],
  ["invalid_client", "The client is not known, or did not prove who it is. It may have been removed: register again."],
  [
    "invalid_grant",
    "The code or token is unknown, over, used before, or another client's; or the app was disconnected. Sign in again.",
  ],
  ["unauthorized_client", "This client may not ask in this way."],
  [
    "unsupported_grant_type",
    "There are <code>authorization_code</code>, <code>refresh_token</code> and the device code.",
  ],
  ["unsupported_response_type", "There is <code>code</code> and nothing else."],
  ["invalid_client_metadata", "What the client says of itself cannot be registered (RFC 7591)."],
  [
    "invalid_redirect_uri",
    "A redirect is https, http to this machine, or a scheme of the app's own; without credentials and fragment.",
  ],
  ["authorization_pending", "Nobody has decided on the device's code yet."],
  ["slow_down", "The client asks too often. Wait longer between two tries."],
  ["expired_token", "The device's code is over. Ask for another."],
  ["temporarily_unavailable", "Too much at once. Try again later."],
  ["server_error", "Something went wrong inside the gateway. Its log has more."],
] as const;
