import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { systemClock } from "../core/clock.ts";
import { createAddressList, createGuardedFetch, isAddressEntry, type ResolvedAddress } from "./guarded-fetch.ts";
import { isPublicAddress } from "./public-addresses.ts";

const get = { method: "GET" } as const;

/** @param names the answers of the name service */
function guarded(allowed: readonly string[], names: Readonly<Record<string, readonly string[]>> = {}) {
  const asked: string[] = [];
  const resolve = async (host: string): Promise<readonly ResolvedAddress[]> => {
    asked.push(host);
    return (names[host] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  const fetch = createGuardedFetch({ clock: systemClock, allowed: createAddressList(allowed), resolve });
  return { fetch, asked };
}

async function listen(onRequest: RequestListener): Promise<number> {
  const server = createServer(onRequest);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return address === null || typeof address === "string" ? 0 : address.port;
}

describe("addresses outside the public internet are refused", () => {
  test.for([
    ["this machine", "https://127.0.0.1/"],
    ["this machine, in one number", "https://2130706433/"],
    ["this machine, in octal", "https://0177.0.0.1/"],
    ["this machine, in hexadecimal", "https://0x7f.1/"],
    ["this machine, as no address", "https://0.0.0.0/"],
    ["this machine, IPv6", "https://[::1]/"],
    ["no address, IPv6", "https://[::]/"],
    ["private, 10", "https://10.1.2.3/"],
    ["private, 172.16", "https://172.16.0.1/"],
    ["private, 172.31", "https://172.31.255.255/"],
    ["private, 192.168", "https://192.168.1.1/"],
    ["link-local: a cloud's credentials", "https://169.254.169.254/latest/meta-data/"],
    ["link-local, IPv6", "https://[fe80::1]/"],
    ["carrier-grade NAT", "https://100.64.0.1/"],
    ["multicast", "https://224.0.0.1/"],
    ["multicast, IPv6", "https://[ff02::1]/"],
    ["broadcast", "https://255.255.255.255/"],
    ["unique local, IPv6", "https://[fd00::1]/"],
    ["IPv4 mapped into IPv6", "https://[::ffff:127.0.0.1]/"],
    ["a public IPv4 address mapped into IPv6", "https://[::ffff:8.8.8.8]/"],
    ["IPv4 in NAT64", "https://[64:ff9b::7f00:1]/"],
    ["IPv4 in 6to4", "https://[2002:7f00:1::]/"],
    ["documentation", "https://192.0.2.1/"],
  ])("%s", async ([, url = ""]) => {
    const { fetch, asked } = guarded([]);
    await expect(fetch(url, get)).rejects.toMatchObject({ code: "address_refused" });
    expect(asked, "an address is not looked up").toEqual([]);
  });

  test("a name that resolves to one, also with a trailing dot, and one that does not resolve", async () => {
    const { fetch } = guarded([], { "inside.example": ["10.0.0.1"] });
    await expect(fetch("https://inside.example/", get)).rejects.toMatchObject({ code: "address_refused" });
    await expect(fetch("https://inside.example./", get)).rejects.toMatchObject({ code: "address_refused" });
    await expect(fetch("https://nowhere.example/", get)).rejects.toMatchObject({ code: "address_refused" });
  });

  test("a name with both a private and a public address", async () => {
    const { fetch } = guarded([], { "both.example": ["93.184.216.34", "127.0.0.1"] });
    await expect(fetch("https://both.example/", get)).rejects.toMatchObject({ code: "address_refused" });
  });

  test("but their public neighbours are not", () => {
    const addresses = ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111"];
    expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([]);
  });
});

test("other protocols, credentials and invalid URLs are refused", async () => {
  const { fetch } = guarded(["127.0.0.1"]);
  for (const url of ["ftp://127.0.0.1/", "file:///etc/passwd", "http://me:secret@127.0.0.1/", "hello"]) {
    await expect(fetch(url, get)).rejects.toMatchObject({ code: "url_refused" });
  }
});

test("a check refuses what a request would refuse, and sends nothing", async () => {
  const names = { "inside.example": ["10.0.0.1"], "out.example": ["93.184.216.34"] };
  const { fetch } = guarded(["192.168.7.0/24"], names);
  for (const [url, code] of [
    ["ftp://out.example/", "url_refused"],
    ["hello", "url_refused"],
    ["https://me:secret@out.example/", "url_refused"],
    ["http://out.example/", "url_refused"],
    ["https://127.0.0.1/", "address_refused"],
    ["https://inside.example/", "address_refused"],
  ] as const) {
    await expect(fetch.check(url), url).rejects.toMatchObject({ code });
  }
  await fetch.check("https://out.example/");
  await fetch.check("http://192.168.7.1/");
});

test("a check passes a name that cannot be looked up now, but none that can never exist", async () => {
  const clock = createFakeClock();
  const offline = { clock, resolve: () => Promise.reject(new Error("getaddrinfo EAI_AGAIN")) };
  const { check } = createGuardedFetch({ ...offline, allowed: createAddressList(["nas.local"]) });
  for (const host of ["hooks.company.net", "hooks.company.net.", "nas.local"]) await check(`https://${host}/`);
  for (const host of ["nas", "x.invalid", "x.TEST", "localhost.", "a..net", `${"a".repeat(64)}.net`]) {
    await expect(check(`https://${host}/`), host).rejects.toMatchObject({ code: "address_refused" });
  }
  const slow = createGuardedFetch({
    clock,
    resolve: () => new Promise(() => undefined),
    allowed: createAddressList([]),
  });
  const checked = slow.check("https://hooks.company.net/");
  await clock.advance(5_000);
  await checked;
});

test("http is refused unless allowed, even to a public address", async () => {
  const { fetch } = guarded([], { "out.example": ["93.184.216.34"] });
  await expect(fetch("http://out.example/", get)).rejects.toMatchObject({ code: "url_refused" });
});

test("allowed hosts are fetched: by address, network and name", async () => {
  const port = await listen((request, response) => {
    response.setHeader("x-seen", `${request.headers.host} ${request.method}`);
    request.pipe(response);
  });
  const names = { "hooks.internal": ["127.0.0.1"] };
  for (const allowed of ["127.0.0.1", "127.0.0.0/8", "hooks.internal"]) {
    const { fetch } = guarded([allowed], names);
    const host = `${allowed === "hooks.internal" ? "hooks.internal" : "127.0.0.1"}:${port}`;
    const answer = await fetch(`http://${host}/`, { method: "POST", body: "héllo" });
    expect(answer).toMatchObject({ status: 200, body: "héllo" });
    expect(answer.headers.get("x-seen")).toBe(`${host} POST`);
  }
});

test("a name is resolved once and that address is used, so it cannot change later", async () => {
  const port = await listen((_request, response) => response.end("the one that was checked"));
  let looks = 0;
  const fetch = createGuardedFetch({
    clock: systemClock,
    allowed: createAddressList(["127.0.0.1"]),
    resolve: async () => [{ address: looks++ === 0 ? "127.0.0.1" : "10.0.0.1", family: 4 }],
  });
  const answer = await fetch(`http://rebinding.example:${port}/`, get);
  expect(answer.body).toBe("the one that was checked");
  expect(looks).toBe(1);
});

test("a redirect is refused and not followed", async () => {
  let requests = 0;
  const port = await listen((_request, response) => {
    requests += 1;
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  await expect(guarded(["127.0.0.1"]).fetch(`http://127.0.0.1:${port}/`, get)).rejects.toMatchObject({
    code: "redirect_refused",
  });
  expect(requests).toBe(1);
});

test("a response that is too large or endless is cut off", async () => {
  const port = await listen((_request, response) => {
    const more = (): void => {
      while (response.write("x".repeat(10_000)));
    };
    response.on("drain", more);
    more();
  });
  await expect(guarded(["127.0.0.1"]).fetch(`http://127.0.0.1:${port}/`, get)).rejects.toMatchObject({
    code: "answer_too_large",
  });
});

test("a response of 64 KB is read whole", async () => {
  const port = await listen((_request, response) => response.end("x".repeat(64 * 1024)));
  const { body } = await guarded(["127.0.0.1"]).fetch(`http://127.0.0.1:${port}/`, get);
  expect(body).toHaveLength(64 * 1024);
});

describe("the whole request may take five seconds", () => {
  async function expectTimeout(url: string, resolve?: () => Promise<never>): Promise<void> {
    const clock = createFakeClock();
    const allowed = createAddressList(["127.0.0.1"]);
    const fetch = createGuardedFetch({ clock, allowed, ...(resolve === undefined ? {} : { resolve }) });
    const fetching = fetch(url, get).catch((error: unknown) => error);
    await clock.advance(4_999);
    expect(clock.nextAt, "it still waits").not.toBeNull();
    await clock.advance(1);
    expect(await fetching).toMatchObject({ code: "fetch_timeout" });
  }

  test("a name service that does not answer", () =>
    expectTimeout("http://slow.example/", () => new Promise(() => undefined)));

  test("a server that accepts the connection and sends nothing", async () => {
    const port = await listen(() => undefined);
    await expectTimeout(`http://127.0.0.1:${port}/`);
  });

  test("a server that sends a byte now and then (slow loris)", async () => {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      const drip = setInterval(() => void socket.write("x"), 20);
      socket.on("close", () => clearInterval(drip));
      socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const address = server.address();
    await expectTimeout(`http://127.0.0.1:${address === null || typeof address === "string" ? 0 : address.port}/`);
  });
});

test("the caller's signal aborts it, and a failed connection is reported with the reason", async () => {
  const port = await listen(() => undefined);
  const { fetch } = guarded(["127.0.0.1"]);
  const stopping = new AbortController();
  const fetching = fetch(`http://127.0.0.1:${port}/`, { ...get, signal: stopping.signal });
  stopping.abort();
  await expect(fetching).rejects.toMatchObject({ code: "fetch_failed" });
  await expect(fetch("http://127.0.0.1:1/", get)).rejects.toMatchObject({
    code: "fetch_failed",
    message: expect.stringContaining("ECONNREFUSED"),
  });
});

test("only hosts, addresses and networks can be allowed", () => {
  const good = ["localhost", "hooks.internal", "10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"];
  const bad = ["", "10.0.0.0/33", "10.0.0.0/8/8", "host/8", "http://x", "fd00::/129", "a b", "10.0.0.0/x"];
  expect(good.filter((entry) => !isAddressEntry(entry))).toEqual([]);
  expect(bad.filter(isAddressEntry)).toEqual([]);
});
