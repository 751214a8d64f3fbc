import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { Accounts, PasskeyOwner } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { addPasskeyInputSchema, passkeyAnswerSchema, passkeyCeremonySchema, passkeySchema } from "../wire/accounts.ts";
import { signedInSchema } from "../wire/sign-in.ts";
import { textSchema } from "../wire/text.ts";
import { browserCookie } from "./deciding.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

export interface PasskeyRoutesDeps {
  readonly accounts: Pick<Accounts, "accountOf" | "audit" | "passkeys">;
  /** The gateway's address in browsers. Passkeys work only there. */
  readonly baseUrl: () => string;
}

const tags = ["passkeys"];
const own = { access: "own" } as const;

/** Passkeys of the caller's account, and sign-in with a passkey. @see https://www.w3.org/TR/webauthn-3/ */
export function passkeyRoutes(deps: PasskeyRoutesDeps): RouteModule {
  return (server) => {
    addRegistration(server, deps);
    addOwn(server, deps);
    addSignIn(server, deps);
  };
}

function addRegistration(server: RouteServer, deps: PasskeyRoutesDeps): void {
  const { app, actorOf, ownPageOf } = server;
  const { passkeys, audit } = deps.accounts;
  app.route({
    method: "POST",
    url: "/api/passkeys/registration",
    config: own,
    schema: {
      operationId: "beginPasskeyRegistration",
      tags,
      summary: "Starts creating a passkey. Returns the options for `navigator.credentials.create`.",
      description: "For pages at the gateway's own address. Browsers do not support passkeys for IP addresses.",
      response: { 200: passkeyCeremonySchema },
    },
    handler: async (request) => {
      const page = { pageOrigin: ownPageOf(request), baseUrl: deps.baseUrl() };
      return passkeys.beginRegistration(await ownerOf(request, { server, ...deps }), page);
    },
  });

  app.route({
    method: "POST",
    url: "/api/passkeys",
    config: own,
    schema: {
      operationId: "addPasskey",
      tags,
      summary: "Saves the passkey that the browser created.",
      body: addPasskeyInputSchema,
      response: { 201: passkeySchema },
    },
    handler: async (request, reply) => {
      const owner = await ownerOf(request, { server, ...deps });
      const made = await passkeys.register(owner, request.body);
      const { passkeyId: subject, name } = made;
      await audit.note({ ...actorOf(request), action: "passkey_added", subject, details: { name } });
      return reply.code(201).send(made);
    },
  });
}

function addOwn({ app, actorOf, principalOf }: RouteServer, { accounts }: PasskeyRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/passkeys",
    config: own,
    schema: {
      operationId: "listPasskeys",
      tags,
      summary: "Lists the account's passkeys, oldest first.",
      response: { 200: z.object({ passkeys: z.array(passkeySchema) }) },
    },
    handler: async (request) => ({ passkeys: [...(await accounts.passkeys.list(principalOf(request).accountId))] }),
  });

  app.route({
    method: "DELETE",
    url: "/api/passkeys/:passkeyId",
    config: own,
    schema: {
      operationId: "removePasskey",
      tags,
      summary: "Removes a passkey immediately. Browsers that signed in with it stay signed in.",
      params: z.strictObject({ passkeyId: textSchema(1_500) }),
      response: { 204: z.undefined().describe("Removed") },
    },
    handler: async (request, reply) => {
      const { accountId } = principalOf(request);
      const { passkeyId: subject, name } = await accounts.passkeys.remove(accountId, request.params.passkeyId);
      await accounts.audit.note({ ...actorOf(request), action: "passkey_removed", subject, details: { name } });
      return reply.code(204).send();
    },
  });
}

function addSignIn(
  { app, checkFailures, originOf, ownPageOf }: RouteServer,
  { accounts, baseUrl }: PasskeyRoutesDeps,
): void {
  app.route({
    method: "POST",
    url: "/api/sign-in/passkey/options",
    config: { access: "public", limit: "passkeyOptions" },
    schema: {
      operationId: "beginPasskeySignIn",
      tags: ["sign-in"],
      summary: "Starts a sign-in with a passkey. Returns the options for `navigator.credentials.get`.",
      description: "For pages at the gateway's own address.",
      response: { 200: passkeyCeremonySchema },
    },
    handler: async (request) => accounts.passkeys.beginSignIn({ pageOrigin: ownPageOf(request), baseUrl: baseUrl() }),
  });

  app.route({
    method: "POST",
    url: "/api/sign-in/passkey",
    config: { access: "public", limit: "signIn" },
    schema: {
      operationId: "signInWithPasskey",
      tags: ["sign-in"],
      summary: "Signs in a browser with the passkey's response.",
      description:
        "Only for the gateway's own pages; other origins are refused. Sets a cookie, which is valid only together with the key.",
      body: passkeyAnswerSchema,
      response: { 200: signedInSchema },
    },
    handler: async (request, reply) => {
      const ownOrigin = ownPageOf(request);
      const { cookie, key, expiresAt } = await accounts.passkeys.signIn(request.body, originOf(request), () =>
        checkFailures(request),
      );
      void reply.header("set-cookie", browserCookie(ownOrigin, cookie));
      return { key, expiresAt };
    },
  });
}

/** @throws PosternError `invalid_request` if the caller is not a browser */
async function ownerOf(
  request: FastifyRequest,
  { server, accounts }: PasskeyRoutesDeps & { readonly server: RouteServer },
): Promise<PasskeyOwner> {
  const principal = server.principalOf(request);
  const { browserSessionId } = principal;
  if (browserSessionId === null) {
    throw new PosternError(
      "invalid_request",
      "Only a signed-in browser can create a passkey. Sign in with a link first.",
    );
  }
  return { account: await accounts.accountOf(principal), browserSessionId };
}
