import { readFileSync } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, test } from "vitest";
import { oauthPaths } from "../../src/wire/oauth.ts";
import {
  createOAuthPeer,
  decidingToken,
  manyAddresses,
  newChallenge,
  type OAuthPeer,
  type TestClient,
} from "../support/oauth-client.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { useGateway } from "../support/use-gateway.ts";

// Whoever copies the store while apps are let in can do nothing with it, nor with the write-ahead log beside it.

/** Letting an app in again ends what it was let do before at the same place. */
const places = [
  "https://one.example/callback",
  "https://two.example/callback",
  "https://three.example/callback",
] as const;
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

describe.for(["opaque", "jwt"])("with %s access tokens", (accessTokens) => {
  const used = useGateway({ agents: false, config: { ...manyAddresses, oauth: { accessTokens } } });
  let peer: OAuthPeer;
  let ownerToken = "";
  let client: TestClient;
  beforeAll(async () => {
    ownerToken = await decidingToken(used.gateway);
    peer = createOAuthPeer(used.gateway.app.baseUrl, ownerToken);
    const { body } = await peer.register({ client_name: "An app", redirect_uris: places });
    const [clientId, clientSecret] = [String(body["client_id"]), String(body["client_secret"])];
    client = { clientId, clientSecret, redirectUri: places[0] };
  });

  /** Everything that is good for something right now, by what it is. */
  async function liveSecrets(): Promise<Readonly<Record<string, string>>> {
    const device = await peer.register({
      redirect_uris: [],
      response_types: [],
      grant_types: [deviceGrant],
      token_endpoint_auth_method: "none",
    });
    const waiting = await peer.post(oauthPaths.deviceAuthorization, null, {
      client_id: String(device.body["client_id"]),
    });
    const { accessToken, refreshToken } = await peer.letIn(client);
    const [, there, elsewhere] = places.map((redirectUri) => ({ ...client, redirectUri }));
    if (there === undefined || elsewhere === undefined) throw new Error("The client has too few redirects.");
    const second = await peer.refresh(there, (await peer.letIn(there)).refreshToken);
    return {
      "the owner's token": ownerToken,
      "the client's secret": client.clientSecret ?? "",
      "a code that nobody redeemed yet": await peer.code(elsewhere, newChallenge()),
      "an access token": accessToken,
      "a refresh token": refreshToken,
      "a refreshed token": String(second.body["refresh_token"]),
      "a device code": String(waiting.body["device_code"]),
      "a user code": String(waiting.body["user_code"]),
    };
  }

  async function steal(): Promise<{ readonly bytes: Buffer; readonly store: DatabaseSync }> {
    const folder = await makeTempFolder();
    const files = (await readdir(used.world.home)).filter((name) => name.startsWith("postern.db"));
    for (const name of files) await copyFile(join(used.world.home, name), join(folder, name));
    const bytes = Buffer.concat(files.map((name) => readFileSync(join(folder, name))));
    return { bytes, store: new DatabaseSync(join(folder, "postern.db")) };
  }

  /** Every text in every table, and every text within the JSON of one. */
  function textsOf(store: DatabaseSync): ReadonlySet<string> {
    const texts = new Set<string>();
    const add = (value: unknown): void => {
      if (typeof value === "object" && value !== null) {
        for (const [name, inner] of Object.entries(value)) for (const one of [name, inner]) add(one);
        return;
      }
      if (typeof value !== "string" || value.length < 8 || texts.has(value)) return;
      texts.add(value);
      if (/^[[{]/.test(value)) add(JSON.parse(value));
    };
    const tables = store.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables) for (const row of store.prepare(`SELECT * FROM "${String(name)}"`).all()) add(row);
    return texts;
  }

  test("none of what is in force stands in its bytes", async () => {
    const secrets = await liveSecrets();
    const { bytes, store } = await steal();
    const found = Object.entries(secrets).filter(([, secret]) => {
      expect(secret.length).toBeGreaterThan(7);
      const [, , signature = secret] = secret.split("."); // of a JWT only its signature is secret
      return [signature, secret.replaceAll("-", "")].some(
        (form) => bytes.includes(form) || bytes.includes(form.toLowerCase()),
      );
    });
    expect(found.map(([what]) => what)).toEqual([]);
    expect(bytes.includes("client_secret"), "the clients are there").toBe(true);
    expect(bytes.toString("latin1")).not.toMatch(/"d"\s*:\s*"[\w-]{20,}|-----BEGIN|PRIVATE KEY/);
    store.close();
  });

  test("no text in its tables is a token, a code, a secret or a user code", async () => {
    await liveSecrets();
    const { store } = await steal();
    const texts = [...textsOf(store)].filter((text) => text.length < 2_000 && /^[\x21-\x7e]+$/.test(text));
    store.close();
    expect(texts.length).toBeGreaterThan(50);
    const taken: string[] = [];
    const tryOut = async (text: string): Promise<void> => {
      const publicClient = { ...client, clientSecret: null };
      const challenge = newChallenge();
      const answers: readonly (readonly [string, number])[] = [
        ["as a bearer", await peer.use(text)],
        ["as a code", (await peer.redeem(client, text, { code_verifier: challenge.verifier })).status],
        ["as a refresh token", (await peer.refresh(client, text)).status],
        [
          "as a client's secret",
          (await peer.post(oauthPaths.introspection, publicClient, { client_secret: text, token: "any" })).status,
        ],
      ];
      taken.push(...answers.filter(([, status]) => status < 400).map(([how]) => `${how}: ${text.slice(0, 60)}`));
    };
    for (let at = 0; at < texts.length; at += 20) await Promise.all(texts.slice(at, at + 20).map(tryOut));
    expect(taken).toEqual([]);
  });
});
