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

/** A route for each limit, which fails on request; attempts with `code` count against that code. */
const limited: RouteModule = ({ app, attacks }) => {
  for (const limit of limitNames) {
    app.route({
      method: "POST",
      url: `/limited/${limit}`,
      config: { access: "public", limit, crossOrigin: true },
      schema: { querystring: z.object({ fail: z.string().optional(), code: z.string().optional() }) },
      async handler(request, reply) {
        const { fail, code } = request.query;
        if (code !== undefined) attacks(request, "userCode", code);
        if (fail !== undefined) throw new PosternError("unauthenticated", "Wrong.");
        return reply.code(204).send();
      },
    });
  }
};

interface Sent {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

async function setUp(config: Partial<HttpConfig> = { trustedProxies: ["127.0.0.1"] }) {
  const clock = createFakeClock();
  const routes = ({ accounts }: Parameters<Parameters<typeof startHttpServer>[0]>[0]) => [
    limited,
    signInRoutes({ accounts, gateway: () => gateway }),
  ];
  const server = await startHttpServer(routes, config, { clock });
  const post = async (path: string, from = "192.0.2.1", { body, headers }: Sent = {}) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "x-forwarded-for": from, origin: server.url, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const times = async (count: number, path: string, from?: string) => {
    const statuses = new Set<number>();
    for (let at = 0; at < count; at += 1) statuses.add((await post(path, from)).status);
    return [...statuses];
  };
  return { ...server, clock, post, times };
}

test.each(limitNames)(
  "%s: one address is limited, another is not, and the limit ends with the window",
  async (name) => {
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
    expect((await post(path, "198.51.100.1, 192.0.2.1")).status).toBe(429); // the same address is limited, whatever address the client claims
    await clock.advance(30_000);
    expect((await post(path)).status).toBe(204);
  },
);

test("a header of an untrusted proxy does not change the limit", async () => {
  const { post, times } = await setUp({ trustedProxies: [] });
  expect(await times(defaultLimits.deviceAuthorization.max, "/limited/deviceAuthorization", "192.0.2.1")).toEqual([
    204,
  ]);
  for (const from of ["192.0.2.2", "127.0.0.1", "::1"]) {
    expect((await post("/limited/deviceAuthorization", from)).status).toBe(429);
  }
});

test("failures have a lower limit than successes", async () => {
  const { post, times, clock } = await setUp();
  expect(await times(defaultLimits.userCode.maxFailures, "/limited/userCode?fail=1")).toEqual([401]);
  expect((await post("/limited/userCode")).status).toBe(429);
  expect((await post("/limited/userCode", "192.0.2.2")).status).toBe(204);
  await clock.advance(60_000);
  expect((await post("/limited/userCode")).status).toBe(204);
});

test("a route attacked from many addresses is closed for all, and only that route", async () => {
  const { post } = await setUp();
  const path = "/limited/revocation?code=";
  for (let at = 0; at < 30; at += 1) {
    expect((await post(`${path}c1&fail=1`, `198.51.100.${at}`)).status).toBe(401);
  }
  expect((await post(`${path}c1&fail=1`, "203.0.113.1")).status).toBe(429);
  expect((await post(`${path}c1`, "203.0.113.1")).status).toBe(429);
  expect((await post(`${path}c2`, "203.0.113.1")).status).toBe(204);
});

test("wrong secrets do not lock a client out", async () => {
  const { post } = await setUp();
  const authorization = `Basic ${Buffer.from("c1:guess").toString("base64")}`;
  for (let at = 0; at < 210; at += 1) {
    expect((await post("/limited/token?fail=1", `198.51.100.${at}`, { headers: { authorization } })).status).toBe(401);
  }
  expect((await post("/limited/token", "203.0.113.1", { headers: { authorization } })).status).toBe(204);
});

test.each([
  ["another origin", { origin: "https://evil.example" }],
  ["no origin that it names", { origin: "null" }],
  ["another site, according to the browser", { "sec-fetch-site": "cross-site" }],
  ["another port of the host", { "sec-fetch-site": "same-site" }],
])(
  "a page of %s in the owner's browser does not use up the limits of programs and our own pages",
  async (_of, headers) => {
    const { post } = await setUp();
    const path = "/limited/registration";
    const byPage = async () => (await post(path, "192.0.2.1", { headers })).status;
    for (let at = 0; at < defaultLimits.registration.max; at += 1) expect(await byPage()).toBe(204);
    expect(await byPage()).toBe(429);
    expect((await post(path)).status).toBe(204);
  },
);

test("repeated sign-in failures are rejected; a valid link still works from the same address", async () => {
  const { accounts, post } = await setUp();
  const { accountId } = await accounts.owner();
  const tries = async () => (await accounts.audit.page({ limit: 200 })).entries.filter((each) => each.account === null);
  for (let at = 0; at < defaultLimits.signIn.maxFailures; at += 1) {
    expect((await post("/api/sign-in", "192.0.2.1", { body: { link: `wrong ${at}` } })).status).toBe(401);
  }
  const noted = (await tries()).length;
  expect(noted).toBe(defaultLimits.signIn.maxFailures);
  // More attempts than the limit of all calls, because failures must not use up the attempts of a valid link.
  for (let at = 0; at < defaultLimits.signIn.max; at += 1) {
    expect((await post("/api/sign-in", "192.0.2.1", { body: { link: `wrong again ${at}` } })).status).toBe(429);
  }
  expect(await tries()).toHaveLength(noted);
  const { link } = await accounts.signIn.createLink(accountId);
  expect((await post("/api/sign-in", "192.0.2.1", { body: { link } })).status).toBe(200);
});

test.each([
  [{ baseUrl: "https://agents.example.org", hosts: ["127.0.0.1"] }, 1],
  [{ baseUrl: "https://agents.example.org", hosts: ["127.0.0.1"], trustedProxies: ["127.0.0.1"] }, 0],
  [{ baseUrl: "https://localhost", hosts: ["127.0.0.1"] }, 0],
  [{ hosts: ["127.0.0.1"] }, 0],
])("%j warns %i times that all callers seem to have one address", async (config, times) => {
  const { logged } = await startHttpServer(() => [], config);
  expect(logged.filter((line) => line.includes("POSTERN_TRUSTED_PROXIES"))).toHaveLength(times);
});
