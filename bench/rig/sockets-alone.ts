/**
 * The bare transport of a keystroke on this machine: one byte over a TCP connection to a process that forwards it over a Unix socket to
 * another, and back.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The round trip alone. */
export interface SocketsAlone {
  type(): void;
  /** Resolves at the next byte. */
  next(): Promise<void>;
  close(): void;
}

const [role, socketPath = ""] = process.argv[1] === import.meta.filename ? process.argv.slice(2) : [];
if (role === "echo") {
  createServer((socket) => socket.pipe(socket)).listen(socketPath, () => process.send?.(0));
} else if (role === "relay") {
  const server = createServer({ noDelay: true }, (socket) => passOn(socket, connect(socketPath)));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.send?.(typeof address === "object" ? address?.port : 0);
  });
}

function passOn(one: Socket, other: Socket): void {
  one.on("data", (data) => other.write(data));
  other.on("data", (data) => one.write(data));
}

export async function startSocketsAlone(): Promise<SocketsAlone> {
  const path = join(tmpdir(), `postern-bench-${process.pid}.sock`);
  const start = (name: string): ChildProcess => fork(import.meta.filename, [name, path]);
  const echo = start("echo");
  await once(echo, "message");
  const relay = start("relay");
  const [port] = await once(relay, "message");
  const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  await once(socket, "connect");
  return {
    type: () => socket.write("k"),
    next: () => new Promise((resolve) => socket.once("data", () => resolve())),
    close() {
      socket.destroy();
      for (const child of [relay, echo]) child.kill();
      rmSync(path, { force: true });
    },
  };
}
