import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import { oauthPaths } from "../../src/wire/oauth.ts";
import type { TestGateway } from "./gateway.ts";

/** A request for authorization by a client that has just registered itself. */
export interface Errand {
  readonly url: URL;
  /** Exchanges what came back. @returns the scopes that were given */
  redeem(arrived: URL): Promise<readonly string[]>;
}

/** @see Errand */
export async function beginErrand(
  { url: gateway, app }: TestGateway,
  redirectUri: string,
  {
    name = "Nightly bot",
    scope = "coding:read coding:write coding:drive",
  }: { readonly name?: string; readonly scope?: string } = {},
): Promise<Errand> {
  const registered = await fetch(`${gateway}${oauthPaths.registration}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  const { client_id } = z.object({ client_id: z.string() }).parse(await registered.json());
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(oauthPaths.authorize, app.baseUrl);
  const query = {
    client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope,
    state: "of the test",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  };
  for (const [field, value] of Object.entries(query)) url.searchParams.set(field, value);
  return {
    url,
    async redeem(arrived) {
      const code = arrived.searchParams.get("code") ?? "";
      const form = { grant_type: "authorization_code", client_id, redirect_uri: redirectUri, code_verifier: verifier };
      const answer = await fetch(`${gateway}${oauthPaths.token}`, {
        method: "POST",
        body: new URLSearchParams({ ...form, code }),
      });
      const given = z.object({ access_token: z.string(), scope: z.string() }).parse(await answer.json());
      return given.scope.split(" ").toSorted();
    },
  };
}

const deviceSchema = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
});

/** What a terminal on another machine begins, and asks until it is decided. */
export async function beginOnDevice({ url }: TestGateway) {
  const grantType = "urn:ietf:params:oauth:grant-type:device_code";
  const metadata = { client_name: "Terminal on the NAS", token_endpoint_auth_method: "none", redirect_uris: [] };
  const registered = await fetch(`${url}${oauthPaths.registration}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...metadata, grant_types: [grantType], response_types: [] }),
  });
  const { client_id } = z.object({ client_id: z.string() }).parse(await registered.json());
  const begun = await fetch(`${url}${oauthPaths.deviceAuthorization}`, {
    method: "POST",
    body: new URLSearchParams({ client_id, scope: "coding:read coding:write" }),
  });
  const device = deviceSchema.parse(await begun.json());
  return {
    ...device,
    async ask(): Promise<unknown> {
      const answer = await fetch(`${url}${oauthPaths.token}`, {
        method: "POST",
        body: new URLSearchParams({ client_id, grant_type: grantType, device_code: device.device_code }),
      });
      const { error, scope } = z
        .object({ error: z.string(), scope: z.string() })
        .partial()
        .parse(await answer.json());
      return error ?? scope;
    },
  };
}
