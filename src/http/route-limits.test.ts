import { expect, test } from "vitest";
import { z } from "zod";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { PosternError } from "../core/errors.ts";
import { type HttpConfig, type RouteModule, signInRoutes } from "./index.ts";
import { defaultLimits, type LimitName } from "./route-limits.ts";

const gateway = { id: "g", version: "1", baseUrl: "http://localhost" };

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(defaultLimits, name);
}
const limitNames = Object.keys(defaultLimits).filter(isLimitName);

/** A route for each limit, which fails when it is told to; `/client` fails as an attack on a client would. */
const limited: RouteModule = ({ app, attacks }) => {
  for (const limit of limitNames) {
    app.route({
      method: "POST",
      url: `/limited/${limit}`,
      config: { access: "public", limit },
      schema: { querystring: z.object({ fail: z.string().optional(), client: z.string().optional() }) },
      async handler(request, reply) {
        const { fail, client } = request.query;
        if (client !== undefined) attacks(request, "client", client);
        if (fail !== undefined) throw new PosternError("unauthenticated", "Wrong.");
        return reply.code(204).send();
      },
    });
  }
};

async function setUp(config: Partial<HttpConfig> = { trustedProxies: ["127.0.0.1"] }) {
  const clock = createFakeClock();
  const routes = ({ accounts }: Parameters<Parameters<typeof startHttpServer>[0]>[0]) => [
    limited,
    signInRoutes({ accounts, gateway: () => gateway }),
  ];
  const server = await startHttpServer(routes, config, { clock });
  const post = async (path: string, from = "192.0.2.1", body?: object) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "x-forwarded-for": from, origin: server.url, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const times = async (count: number, path: string, from?: string) => {
    const statuses = new Set<number>();
    for (let at = 0; at < count; at += 1) statuses.add((await post(path, from)).status);
    return [...statuses];
  };
  return { ...server, clock, post, times };
}

test.each(limitNames)("%s: one address is limited, another is not, and after the window it goes on", async (name) => {
  const { post, times, clock } = await setUp();
  const path = `/limited/${name}`;
  const { max, windowMs, oauthError } = { oauthError: undefined, ...defaultLimits[name] };
  expect(await times(max, path)).toEqual([204]);
  await clock.advance(windowMs - 30_000);
  const refused = await post(path);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
  expect(await refused.json()).toMatchObject(
    oauthError === undefined ? { code: "rate_limited" } : { error: oauthError },
  );
  expect((await post(path, "192.0.2.2")).status).toBe(204);
  expect((await post(path, "198.51.100.1, 192.0.2.1")).status).toBe(429); // whoever claims to be behind it
  await clock.advance(30_000);
  expect((await post(path)).status).toBe(204);
});

test("a header of whom nobody trusts gets nobody another limit", async () => {
  const { post, times } = await setUp({ trustedProxies: [] });
  expect(await times(defaultLimits.deviceAuthorization.max, "/limited/deviceAuthorization", "192.0.2.1")).toEqual([
    204,
  ]);
  for (const from of ["192.0.2.2", "127.0.0.1", "::1"]) {
    expect((await post("/limited/deviceAuthorization", from)).status).toBe(429);
  }
});

test("who fails may fail less often than others may succeed", async () => {
  const { post, times, clock } = await setUp();
  expect(await times(defaultLimits.signIn.maxFailures, "/limited/signIn?fail=1")).toEqual([401]);
  expect((await post("/limited/signIn")).status).toBe(429);
  expect((await post("/limited/signIn", "192.0.2.2")).status).toBe(204);
  await clock.advance(60_000);
  expect((await post("/limited/signIn")).status).toBe(204);
});

test("what is attacked from many addresses is shut for all, and only that", async () => {
  const { post } = await setUp();
  const path = "/limited/revocation?client=";
  for (let at = 0; at < 200; at += 1) {
    expect((await post(`${path}c1&fail=1`, `198.51.100.${at}`)).status).toBe(401);
  }
  expect((await post(`${path}c1&fail=1`, "203.0.113.1")).status).toBe(429);
  expect((await post(`${path}c1`, "203.0.113.1")).status).toBe(429);
  expect((await post(`${path}c2`, "203.0.113.1")).status).toBe(204);
});

test("a client's secret cannot be tried from many addresses", async () => {
  const { url } = await setUp();
  const post = async (from: string, client: string, query = "?fail=1") => {
    const authorization = `Basic ${Buffer.from(`${client}:guess`).toString("base64")}`;
    return fetch(`${url}/limited/token${query}`, {
      method: "POST",
      headers: { authorization, "x-forwarded-for": from },
    });
  };
  for (let at = 0; at < 200; at += 1) expect((await post(`198.51.100.${at}`, "c1")).status).toBe(401);
  const refused = await post("203.0.113.1", "c1", "");
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ error: "slow_down" })]);
  expect((await post("203.0.113.1", "c2", "")).status).toBe(204);
});

test("sign-in links cannot be tried for long", async () => {
  const { accounts, post } = await setUp();
  for (let at = 0; at < defaultLimits.signIn.maxFailures; at += 1) {
    expect((await post("/api/sign-in", "192.0.2.1", { link: `wrong ${at}` })).status).toBe(401);
  }
  const { link } = await accounts.signIn.createLink((await accounts.owner()).accountId);
  expect((await post("/api/sign-in", "192.0.2.1", { link })).status).toBe(429);
  expect((await post("/api/sign-in", "192.0.2.2", { link })).status).toBe(200);
});
