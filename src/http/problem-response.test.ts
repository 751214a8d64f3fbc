import { describe, expect, test } from "vitest";
import { echo, looseSchema, startEchoServer, toolThat } from "../../test/support/echo-server.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import type { Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import type { Tool } from "../wire/tool.ts";
import { registerTool } from "./index.ts";

describe("a request", () => {
  test("that is valid is answered", async () => {
    const { say } = await startEchoServer();
    expect(await say('{"text":"naïve 🦉"}')).toMatchObject({ status: 200, body: { text: "naïve 🦉" } });
  });

  test("with an invalid body gets every error with its path", async () => {
    const { say } = await startEchoServer();
    const answer = await say('{"txet":1,"more":{"depth":"x","extra":true}}');
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_request", status: 400 } });
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(answer.body["errors"]).toEqual([
      { path: "text", message: expect.stringContaining("expected string") },
      { path: "more.depth", message: expect.stringContaining("expected number") },
      { path: "more.extra", message: "Unknown field" },
      { path: "txet", message: "Unknown field" },
    ]);
  });

  test("whose body is not JSON, not UTF-8 or has lone surrogates is refused", async () => {
    const { say } = await startEchoServer();
    for (const body of [
      "{",
      '{"text":"a",}',
      '{"text":"\\ud83d"}',
      '{"\\udc00":1}',
      '{"text":"a","__proto__":{"x":1}}',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
      Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ]) {
      expect(await say(body), String(body)).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    }
    expect(await say('{"text":"\\ud83e\\udd89"}')).toMatchObject({ status: 200, body: { text: "🦉" } });
  });

  test("without a body is treated as one without fields", async () => {
    const { say, post } = await startEchoServer([toolThat(async () => ({ done: true }))]);
    expect(await post("/api/coding/act")).toMatchObject({ status: 200, body: { done: true } });
    expect(await post("/api/coding/act", "")).toMatchObject({ status: 200, body: { done: true } });
    expect(await say()).toMatchObject({ status: 400, body: { errors: [{ path: "text" }] } });
  });

  test("of another content type is refused", async () => {
    const { post } = await startEchoServer();
    const refused = { status: 415, body: { code: "unsupported_media_type" } };
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/jsonx",
      "application/xml",
      "x",
    ]) {
      expect(await post("/api/coding/echo", '{"text":"a"}', { "content-type": type }), type).toMatchObject(refused);
    }
    expect(
      await post("/api/coding/echo", '{"text":"a"}', { "content-type": "application/json; charset=utf-8" }),
    ).toMatchObject({ status: 200 });
  });

  test("that is too large is refused, even without a declared length", async () => {
    const { post, port, headers, say } = await startEchoServer([], { bodyLimitBytes: 1_000 });
    expect(await say(JSON.stringify({ text: "x".repeat(980) }))).toMatchObject({ status: 200 });
    expect(await post("/api/coding/echo", JSON.stringify({ text: "x".repeat(1_000) }))).toMatchObject({
      status: 413,
      body: { code: "too_large" },
    });
    const chunk = "x".repeat(700);
    const lines = [
      "POST /api/coding/echo HTTP/1.1",
      `Host: localhost:${port}`,
      `Authorization: ${headers.authorization}`,
      "Content-Type: application/json",
      `Transfer-Encoding: chunked\r\n\r\n2bc\r\n${chunk}\r\n2bc\r\n${chunk}\r\n0`,
    ];
    expect(await rawRequest({ host: "127.0.0.1", port }, lines)).toMatchObject({ status: 413 });
  });

  test("to an unknown route or with another method gets a problem", async () => {
    const { url, headers } = await startEchoServer();
    const nowhere = await fetch(`${url}/api/nowhere`, { headers });
    expect(nowhere.status).toBe(404);
    expect(await nowhere.json()).toMatchObject({ code: "route_not_found" });
    const visited = await fetch(`${url}/sesions`, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect(visited.status).toBe(404);
    expect(visited.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await visited.text()).toContain('<a href="/">');
    const wrong = await fetch(`${url}/api/coding/echo`, { headers });
    expect(wrong.status).toBe(404);
    expect(wrong.headers.get("allow")).toBe("POST");
    expect(await wrong.json()).toMatchObject({ code: "route_not_found", detail: expect.stringContaining("POST") });
    const withParameter = await fetch(`${url}/api/items/7`, { method: "PUT", headers });
    expect(withParameter.headers.get("allow")).toBe("GET, HEAD");
    const preflight = await fetch(`${url}/api/coding/echo`, { method: "OPTIONS" });
    expect(preflight.status).toBe(404);
  });

  test("that is malformed is answered with a problem too", async () => {
    const { port } = await startEchoServer();
    const to = { host: "127.0.0.1", port };
    const host = `Host: localhost:${port}`;
    const problem = { headers: { "content-type": expect.stringContaining("application/problem+json") } };
    for (const lines of [
      ["GET /api/%zz HTTP/1.1", host],
      ["NONSENSE"],
      ["GET /healthz HTTP/1.1", host, "Bad Header: x"],
    ]) {
      expect(await rawRequest(to, lines), lines[0]).toMatchObject({ status: 400, ...problem });
    }
    const large = await rawRequest(to, ["GET /healthz HTTP/1.1", host, `X-Large: ${"x".repeat(20_000)}`]);
    expect(large).toMatchObject({ status: 413, ...problem });
    expect(JSON.parse(large.body)).toMatchObject({ code: "too_large", status: 413 });
  });
});

describe("an error", () => {
  test("of an internal fault shows no details; the log has them under the id in the answer", async () => {
    const fail = async (): Promise<never> => {
      throw new Error("cannot read /root/secret", { cause: new Error("EIO") });
    };
    const { post, logged } = await startEchoServer([toolThat(fail)]);
    const { status, body } = await post("/api/coding/act");
    expect(status).toBe(500);
    expect(Object.keys(body).toSorted()).toEqual(["code", "detail", "status", "title", "type"]);
    expect(JSON.stringify(body)).not.toContain("secret");
    const line = looseSchema.parse(JSON.parse(logged.find((text) => text.includes("/root/secret")) ?? "{}"));
    expect(line).toMatchObject({ level: "error", cause: "EIO" });
    expect(body["detail"]).toContain(line["requestId"]);
  });

  test("with an unlisted code, or from an answer that violates its schema, is an internal error", async () => {
    const odd = async (): Promise<never> => {
      throw new PosternError("lease_held", "The lease of /secret is held.", { details: { path: "/secret" } });
    };
    const { post } = await startEchoServer([toolThat(odd)]);
    const answer = await post("/api/coding/act");
    expect(answer).toMatchObject({ status: 500, body: { code: "internal_error" } });
    expect(JSON.stringify(answer.body)).not.toContain("secret");
    const broken: Tool<Principal> = { ...echo, name: "broken", run: async () => ({ text: 1 }) };
    const second = await startEchoServer([(server) => registerTool(server, broken)]);
    expect(await second.post("/api/coding/broken", '{"text":"a"}')).toMatchObject({
      status: 500,
      body: { code: "internal_error" },
    });
  });

  test("of a capability has its code's status, its message and its details", async () => {
    let error: PosternError = new PosternError("session_busy", "Session s1 is busy.", { details: { sessionId: "s1" } });
    const { post } = await startEchoServer([toolThat(() => Promise.reject(error))]);
    expect(await post("/api/coding/act")).toMatchObject({
      status: 409,
      body: {
        type: "/docs/problems#session_busy",
        title: "Session busy",
        status: 409,
        detail: "Session s1 is busy.",
        code: "session_busy",
        sessionId: "s1",
      },
    });
    const details = { sessionId: "s1", exitCode: 1, lastScreen: "boom" };
    error = new PosternError("agent_start_failed", "claude-code ended at once.", { details });
    expect(await post("/api/coding/act")).toMatchObject({
      status: 503,
      body: { code: "agent_start_failed", ...details },
    });
    error = new PosternError("terminal_host_unavailable", "connect ECONNREFUSED /secret.sock");
    const gone = await post("/api/coding/act");
    expect(gone).toMatchObject({ status: 503, body: { code: "terminal_host_unavailable" } });
    expect(JSON.stringify(gone.body)).not.toContain("secret");
    error = new PosternError("transcript_unreadable", "Cannot read /secret.jsonl.");
    const unreadable = await post("/api/coding/act");
    expect(unreadable).toMatchObject({ status: 503, body: { code: "transcript_unreadable" } });
    expect(JSON.stringify(unreadable.body)).not.toContain("secret");
    error = new PosternError("session_busy", "x", { details: { status: 200, code: "fine", detail: "no" } });
    expect((await post("/api/coding/act")).body).toMatchObject({ status: 409, code: "session_busy", detail: "x" });
  });

  test("that is temporary has a retry time", async () => {
    const details = { retryAfterMs: 2_500 };
    let error: PosternError = new PosternError("too_many_sessions", "32 sessions live.", { details });
    const { post } = await startEchoServer([toolThat(() => Promise.reject(error))]);
    const first = await post("/api/coding/act");
    expect([first.status, first.headers.get("retry-after"), first.body["retryAfterMs"]]).toEqual([429, "3", undefined]);
    error = new PosternError("rate_limited", "Slowly.");
    expect((await post("/api/coding/act")).headers.get("retry-after")).toBe("1");
  });
});
