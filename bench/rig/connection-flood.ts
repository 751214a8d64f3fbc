// Run by `connection-flood.ts` as a process: `<port> <shape> <addresses> <connections>`. Keeps so many connections open that never complete
// a request, replacing each one that is closed.
import { connect } from "node:net";
import { upgradeRequest } from "../../test/support/raw-http.ts";

const [port = 0, addresses = 1, connections = 0] = [process.argv[2], process.argv[4], process.argv[5]].map(Number);
const texts: Readonly<Record<string, string>> = {
  half: "GET / HTTP/1.1\r\nHost: ",
  body: `POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\na=`,
  socket: upgradeRequest({ port, path: "/api/coding/coding_xterm_session", upgrade: "websocket" }),
};
const text = texts[process.argv[3] ?? ""] ?? "";
/** How long a connection that was closed waits before the next: faster, this would measure who gets the processor. */
const pauseMs = 1_000;
let opened = 0;

function open(index: number): void {
  const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (index % addresses)}` });
  socket.on("error", () => undefined); // `close` follows
  socket.once("connect", () => {
    socket.write(text);
    opened += 1;
    if (opened === connections) process.send?.("full");
  });
  socket.resume();
  socket.once("close", () => setTimeout(open, pauseMs * (0.5 + Math.random()), index));
}

process.on("message", () => process.send?.(opened));
for (let index = 0; index < connections; index += 1) open(index);
