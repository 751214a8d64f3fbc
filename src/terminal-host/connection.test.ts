import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { openHostConnection } from "./host-connection.ts";
import { createFrameReader, FRAME, jsonFrame, outputFrame, PROTOCOL_MAJOR, readInputFrame } from "./protocol.ts";

const hello = { type: "hello", majors: [PROTOCOL_MAJOR, PROTOCOL_MAJOR], minor: 0, role: "control" };

/** Sends `bytes` to the host and waits for it to close; resolves with the messages it sent before. */
async function sendRaw(socketPath: string, ...bytes: readonly Buffer[]): Promise<unknown[]> {
  const socket = connect(socketPath);
  const messages: unknown[] = [];
  const reader = createFrameReader(1e6, ({ body }) => messages.push(JSON.parse(body.toString())));
  socket.on("data", (chunk: Buffer) => reader.push(chunk));
  socket.on("error", () => undefined);
  for (const part of bytes) socket.write(part);
  const timer = setTimeout(() => socket.destroy(new Error("not closed")), 3_000);
  await once(socket, "close");
  clearTimeout(timer);
  expect(socket.errored?.message).not.toBe("not closed");
  return messages;
}

test("malformed data closes its own connection only", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  const spec = specOf(["/bin/cat"]);
  await client.spawn(spec);
  const request = (more: object): Buffer => jsonFrame({ type: "request", id: 1, method: "list", ...more });
  const greeted = [expect.objectContaining({ type: "hello" })];
  expect(await sendRaw(fixture.socketPath, Buffer.from("GET / HTTP/1.1\r\n\r\n"))).toEqual([]);
  expect(await sendRaw(fixture.socketPath, Buffer.from([0xff, 0xff, 0xff, 0xff, 1]))).toEqual([]);
  expect(await sendRaw(fixture.socketPath, jsonFrame([1, 2]))).toEqual([]);
  expect(await sendRaw(fixture.socketPath, request({}))).toEqual([]);
  expect(await sendRaw(fixture.socketPath, jsonFrame({ ...hello, role: "admin" }))).toEqual([]);
  expect(await sendRaw(fixture.socketPath, jsonFrame(hello), Buffer.from([0, 0, 0, 1, 1, 123]))).toEqual(greeted);
  expect(await sendRaw(fixture.socketPath, jsonFrame(hello), jsonFrame(hello))).toEqual(greeted);
  expect(await sendRaw(fixture.socketPath, jsonFrame(hello), outputFrame(Buffer.from("x")))).toEqual(greeted);
  expect(await sendRaw(fixture.socketPath, jsonFrame(hello), Buffer.from([0, 0, 0, 2, 3, 1, 1]))).toEqual(greeted);
  expect(await sendRaw(fixture.socketPath, jsonFrame(hello), request({ method: 7 }))).toEqual(greeted);
  expect(
    await sendRaw(
      fixture.socketPath,
      jsonFrame(hello),
      request({ method: "resize", params: { terminalId: spec.terminalId, cols: "wide" } }),
    ),
  ).toEqual(greeted);
  expect(
    await sendRaw(
      fixture.socketPath,
      jsonFrame(hello),
      request({ method: "spawn", params: { ...spec, env: { A: 1 } } }),
    ),
  ).toEqual(greeted);
  expect(await client.list()).toMatchObject([{ terminalId: spec.terminalId, exit: null, cols: 80 }]);
});

test("a gateway of an older minor version, and one with fields from the future, are served", async () => {
  const fixture = await makeHostFixture();
  const client = await fixture.connect();
  await client.spawn(specOf(["/bin/cat"]));
  const socket = connect(fixture.socketPath);
  onTestFinished(() => void socket.destroy());
  const messages: unknown[] = [];
  const reader = createFrameReader(1e6, ({ body }) => {
    messages.push(JSON.parse(body.toString()));
    if (messages.length === 3) socket.end();
  });
  socket.on("data", (chunk: Buffer) => reader.push(chunk));
  socket.write(jsonFrame({ ...hello, minor: 0, majors: [PROTOCOL_MAJOR - 1, PROTOCOL_MAJOR + 1], color: "blue" }));
  socket.write(jsonFrame({ type: "request", id: 1, method: "list", params: { since: 0 }, priority: 3 }));
  socket.write(jsonFrame({ type: "request", id: 2, method: "toString", params: {} }));
  await once(socket, "close");
  const [greeting, ...replies] = messages;
  expect(greeting).toMatchObject({ type: "hello", major: PROTOCOL_MAJOR });
  expect(replies.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))).toMatchObject([
    { id: 1, ok: true, result: [{ exit: null }] },
    { id: 2, ok: false, error: { message: "This terminal host does not know the request toString." } },
  ]);
});

test("a gateway of another major version is refused", async () => {
  const fixture = await makeHostFixture();
  await fixture.connect();
  const answer = await sendRaw(
    fixture.socketPath,
    jsonFrame({ ...hello, majors: [PROTOCOL_MAJOR + 1, PROTOCOL_MAJOR + 2] }),
  );
  expect(answer).toMatchObject([{ type: "refused", major: PROTOCOL_MAJOR }]);
});

/** A host of another version, which replies to each message with `answer` and has no conditional frame. */
async function fakeHost(
  answer: (message: { readonly type: string; readonly id: number }, socket: Socket) => object,
): Promise<string> {
  const socketPath = join(await makeTempFolder(), "s");
  const server = createServer((socket) => {
    const reader = createFrameReader(1e6, (frame) => {
      const input = frame.kind === FRAME.input ? readInputFrame(frame) : undefined;
      const message = input && { type: `input ${input.data.toString()}`, id: input.requestId };
      socket.write(jsonFrame(answer(message ?? JSON.parse(frame.body.toString()), socket)));
    });
    socket.on("data", (chunk: Buffer) => reader.push(chunk));
  });
  server.listen(socketPath);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return socketPath;
}

const events = { onMessage: () => undefined, onOutput: () => undefined, onClose: () => undefined };

test("an older host is used, and requests that it does not support are refused locally", async () => {
  const asked: string[] = [];
  const socketPath = await fakeHost(({ type, id }) => {
    asked.push(type);
    if (type === "hello") return { type: "hello", major: PROTOCOL_MAJOR, minor: 0, hostVersion: "0.0.9", pid: 1 };
    return { type: "reply", id, ok: true, result: [], tookMs: 1 };
  });
  const connection = await openHostConnection({ socketPath, role: "control", clock: systemClock }, events);
  expect(connection.hello).toMatchObject({ minor: 0, hostVersion: "0.0.9" });
  expect(await connection.request("list", {})).toEqual([]);
  await expect(connection.request("status", {})).rejects.toThrow("(0.0.9) is too old for status");
  expect(await connection.input({ terminalId: "one", data: Buffer.from("x"), ifOutputEndsAt: 7 })).toBe(true);
  expect(asked).toEqual(["hello", "request", "input x"]);
  connection.close();
});

test("a host of another major version is not used", async () => {
  const socketPath = await fakeHost(() => ({ type: "refused", major: 9, minor: 2, pid: 77 }));
  const opening = openHostConnection({ socketPath, role: "control", clock: systemClock }, events);
  await expect(opening).rejects.toThrow("pid 77");
  expect(await errorCode(openHostConnection({ socketPath, role: "control", clock: systemClock }, events))).toBe(
    "terminal_host_unavailable",
  );
});
