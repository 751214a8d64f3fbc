import { html } from "./html.ts";
import { pageOf } from "./page-frame.ts";

/** What `error_uri` leads to. */
export const oauthErrorsPath = "/docs/oauth-errors";

/** Each `error` that a client can get from us, and what its maker can do about it. */
const errors: readonly (readonly [error: string, words: string])[] = [
  ["access_denied", "The owner said no, or allowed nothing of what was asked for. Do not ask again by yourself."],
  [
    "invalid_request",
    "A field is missing, given twice, or not what it should be; `error_description` says which. Public clients must send a code_challenge with S256.",
  ],
  [
    "invalid_scope",
    "A scope is unknown, or not among those that the client registered for. /.well-known/oauth-authorization-server lists all.",
  ],
  ["invalid_target", "The resource is none of this gateway’s. Name its own address, or that of /mcp (RFC 8707)."],
  ["unauthorized_client", "The client did not register for this way of being let in."],
  ["unsupported_response_type", "Only response_type=code is answered."],
  ["invalid_client", "The client is unknown, or its secret is wrong. Register anew."],
  [
    "invalid_grant",
    "The code or refresh token is used, expired, revoked, or another client’s. Let the owner sign you in again; the same will not work later.",
  ],
  ["unsupported_grant_type", "Codes, refresh tokens and device codes are taken, nothing else."],
  ["authorization_pending", "The owner has not decided yet: ask again after `interval` seconds (RFC 8628)."],
  ["slow_down", "You ask too often: wait five seconds longer between two tries, and as long as Retry-After says."],
  ["expired_token", "The device’s code is too old. Begin again."],
  ["temporarily_unavailable", "Too many asked at once. Try again later."],
  ["server_error", "Something went wrong inside the gateway. Its log has more."],
];

/** A page in words about each error of RFC 6749 and its relatives, for who makes a client. */
export const oauthErrorsPage = pageOf(
  "OAuth errors",
  html`<div>
        <h1>OAuth errors</h1>
        <p class="lead">What a client was told, and what its maker can do about it.</p>
      </div>
      <dl class="panel facts wide">${errors.map(
        ([error, words]) => html`<div id="${error}"><dt><code>${error}</code></dt><dd>${words}</dd></div>`,
      )}</dl>`,
);
