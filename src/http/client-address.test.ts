import { request as httpRequest } from "node:http";
import { expect, test } from "vitest";
import { z } from "zod";
import { startHttpServer } from "../../test/support/http-server.ts";
import { addressGroup, clientAddress } from "./connection-shares.ts";
import type { RouteModule } from "./index.ts";

const fromSchema = z.object({ address: z.string().nullable(), userAgent: z.string().nullable() });

const whence: RouteModule = ({ app, originOf }) =>
  app.route({
    method: "GET",
    url: "/whence",
    config: { access: "public" },
    schema: { response: { 200: fromSchema } },
    handler: async (request) => originOf(request),
  });

async function setUp(trustedProxies: readonly string[]) {
  const server = await startHttpServer(() => [whence], { trustedProxies });
  const ask = async (
    forwarded: readonly string[],
    at: { host: string } | { socketPath: string } = { host: "127.0.0.1" },
  ) =>
    new Promise<string | null>((resolve, reject) => {
      const to = { ...at, port: server.port, path: "/whence", agent: false };
      const headers = { host: `localhost:${server.port}`, "x-forwarded-for": [...forwarded], "user-agent": "curl" };
      const outgoing = httpRequest({ ...to, headers }, (answer) => {
        answer.setEncoding("utf8");
        let text = "";
        answer.on("data", (piece: string) => (text += piece));
        answer.on("end", () => resolve(fromSchema.parse(JSON.parse(text)).address));
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
  return { ...server, ask };
}

test("without trusted proxies it is the peer's address, whatever the headers", async () => {
  const { ask, socketPath } = await setUp([]);
  expect(await ask([])).toBe("127.0.0.1");
  expect(await ask(["192.0.2.7"])).toBe("127.0.0.1");
  expect(await ask(["192.0.2.7"], { host: "::1" })).toBe("::1");
  expect(await ask(["192.0.2.7"], { socketPath })).toBe("local");
});

test("the header of a peer that is not a trusted proxy is ignored", async () => {
  const { ask } = await setUp(["10.0.0.0/8", "::1"]);
  expect(await ask(["192.0.2.7"])).toBe("127.0.0.1");
  expect(await ask(["192.0.2.7"], { host: "::1" })).toBe("192.0.2.7");
});

test("behind trusted proxies it is the right-most address that is not a proxy's", async () => {
  const { ask, socketPath } = await setUp(["127.0.0.0/8", "10.0.0.0/8"]);
  expect(await ask([])).toBe("127.0.0.1");
  expect(await ask(["192.0.2.7"])).toBe("192.0.2.7");
  expect(await ask(["203.0.113.1, 192.0.2.7"])).toBe("192.0.2.7"); // the client's own claim is ignored
  expect(await ask(["203.0.113.1, 192.0.2.7, 10.1.2.3"])).toBe("192.0.2.7");
  expect(await ask(["203.0.113.1", "192.0.2.7", "10.1.2.3"])).toBe("192.0.2.7"); // several headers are one list
  expect(await ask(["10.1.2.3"])).toBe("10.1.2.3");
  expect(await ask(["::ffff:192.0.2.7"])).toBe("192.0.2.7");
  expect(await ask(["::FFFF:10.9.9.9"])).toBe("10.9.9.9"); // also trusted in this form; no other client address precedes it
  expect(await ask(["203.0.113.1, unknown"])).toBe("127.0.0.1"); // not an address, so the last known address is used
  expect(await ask(["2001:DB8:0:0:0:0:0:7"])).toBe("2001:db8::7");
  expect(await ask(["192.0.2.7"], { socketPath })).toBe("local");
});

test("an address is normalized", () => {
  for (const [written, plain] of [
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["0:0:0:0:0:ffff:c000:0201", "192.0.2.1"],
    ["192.0.2.1:8080", "192.0.2.1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["", "unknown"],
    ["example.org", "unknown"],
    ['192.0.2.1" OR', "unknown"],
  ] as const) {
    expect(clientAddress({ ip: written }), written).toBe(plain);
  }
  expect(clientAddress({})).toBe("unknown"); // the client has disconnected
});

test("addresses in one subscriber's IPv6 network share a limit", () => {
  expect(addressGroup("192.0.2.1")).toBe("192.0.2.1");
  expect(addressGroup("2001:db8:1:2::7")).toBe("2001:db8:1:2::/64");
  expect(addressGroup("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
  expect(addressGroup("2001:db8:1:3::7")).toBe("2001:db8:1:3::/64");
  expect(addressGroup("2001:db8::7")).toBe("2001:db8:0:0::/64");
  expect(addressGroup("::1")).toBe("0:0:0:0::/64");
  expect(addressGroup("local")).toBe("local");
});
