import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { z } from "zod";
import { makeTestFolder } from "../../test/support/test-folder.ts";

/** The peer: a terminal in the browser from npm, at these versions. */
const packages = ["wetty@3.2.0", "socket.io-client@4.8.4"];
const folder = resolve(import.meta.dirname, "../../.cache/peers");

/** A wetty process. */
export interface Wetty {
  /** `cat` of a file to one client, from Enter to its end. */
  cat(file: string): Promise<{ readonly bytes: number; readonly ms: number }>;
  close(): Promise<void>;
}

/** What is used of a client of socket.io, whose package is there only when it was installed. */
interface PeerSocket {
  on(event: string, listener: (data: unknown) => void): void;
  emit(event: string, data: unknown): void;
  disconnect(): void;
}

/** Null, with the reason said, where wetty cannot be had: it builds its terminal from source, and without root it wants SSH. */
export async function startWetty(say: (sentence: string) => void): Promise<Wetty | null> {
  if (process.getuid?.() !== 0) return (say("not compared with wetty: without root it logs in over SSH only"), null);
  try {
    return await start();
  } catch (error) {
    say(`not compared with wetty: ${error instanceof Error ? error.message.split("\n")[0] : "it did not start"}`);
    return null;
  }
}

async function start(): Promise<Wetty> {
  if (!existsSync(join(folder, "node_modules/wetty"))) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), '{"private":true}');
    await promisify(execFile)("npm", ["install", "--no-fund", "--no-audit", ...packages], {
      cwd: folder,
      timeout: 300_000,
    });
  }
  const scratch = makeTestFolder("wetty");
  const script = join(scratch, "run");
  await writeFile(script, '#!/bin/sh\nstty -echo\necho ready\nread -r file\ncat "$file"\n');
  await chmod(script, 0o755);
  const port = await freePort();
  const argv = [join(folder, "node_modules/wetty/build/main.js"), "--host", "127.0.0.1", "--port", String(port)];
  const child = spawn(process.execPath, [...argv, "--base", "/", "--command", script, "--log-level", "error"], {
    cwd: folder,
    stdio: "ignore",
  });
  const io = connectSchema.parse(createRequire(join(folder, "package.json"))("socket.io-client"));
  const address = `http://127.0.0.1:${port}`;
  for (
    let tries = 0;
    tries < 100 &&
    !(await fetch(address).then(
      () => true,
      () => false,
    ));
    tries += 1
  )
    await sleep(100);

  return {
    cat: (file) =>
      new Promise((done, failed) => {
        const socket = io(address, { path: "/socket.io", transports: ["websocket"], forceNew: true });
        let bytes = 0;
        let startedAt = 0;
        const deadline = setTimeout(() => failed(new Error("wetty gave nothing for a minute")), 60_000);
        socket.on("data", (data) => {
          const text = String(data);
          socket.emit("commit", text.length); // its flow control
          if (startedAt > 0) bytes += Buffer.byteLength(text);
          else if (text.includes("ready")) {
            startedAt = performance.now();
            socket.emit("input", `${file}\r`);
          }
        });
        socket.on("logout", () => {
          const ms = performance.now() - startedAt;
          clearTimeout(deadline);
          // Its last output may come after the news of the end.
          setTimeout(() => (socket.disconnect(), done({ bytes, ms })), 300);
        });
        socket.on("connect_error", (error) => failed(error));
      }),
    async close() {
      child.kill("SIGKILL");
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

const connectSchema = z.custom<(url: string, options: object) => PeerSocket>((value) => typeof value === "function");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}
