// A bare `oidc-provider` with its in-memory adapter, one signed-in session and automatic consent. Sends its address and the session's
// cookie to its parent process.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const redirectUris = process.argv.slice(2);
const scope = "coding:read coding:write";
const accountId = "owner";

const server = createServer();
server.listen(0, "127.0.0.1", () => void begin());

async function begin(): Promise<void> {
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "bench",
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
    ],
    scopes: scope.split(" "),
    features: { devInteractions: { enabled: false } },
    findAccount: async (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    expiresWithSession: async () => false,
    issueRefreshToken: async () => true,
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ accountId, clientId: oidc.client?.clientId ?? "" });
      grant.addOIDCScope(scope);
      await grant.save();
      return grant;
    },
  });
  const session = new provider.Session();
  session.accountId = accountId;
  session.loginTs = Math.floor(Date.now() / 1_000);
  await session.save(3_600);
  const answer = provider.callback();
  server.on("request", (request, response) => void answer(request, response));
  process.send?.({ issuer, cookie: `${provider.cookieName("session")}=${session.jti}` });
}
