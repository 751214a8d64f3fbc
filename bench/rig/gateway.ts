import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import { type ApiClient, createApiClient, createWorld } from "../../test/support/gateway.ts";
import { servePostern } from "../../test/support/postern-process.ts";
import { prepareStore } from "../../test/support/prepared-store.ts";
import { openViewer, type SocketViewer } from "./viewer.ts";

export const size = { cols: 120, rows: 40 };

/** A `postern serve` process with shell scripts as agents. */
export interface Rig {
  readonly api: ApiClient;
  readonly pid: number;
  readonly hostPid: number;
  /** Starts a session of the script with this name. */
  start(script: string): Promise<string>;
  /** Opens a viewer of it; resolves when it was shown the first of the terminal. */
  view(sessionId: string): Promise<SocketViewer>;
  /** The same in its own process, which then types `text`. */
  viewElsewhere(sessionId: string, text: string): Promise<void>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

/** @param scripts for `/bin/sh`, each by a name that an agent may have; each says `ready` */
export async function startRig(scripts: Readonly<Record<string, string>>): Promise<Rig> {
  const names = Object.keys(scripts);
  const agents = names.map((name) => ({
    name,
    binary: "/bin/sh",
    startArgs: ["-c", scripts[name] ?? ""],
    readyPattern: "ready",
  }));
  const world = await createWorld({ agents: false, config: { agents } });
  const token = await prepareStore(world, names);
  const server = await servePostern({ ...world.env });
  const api = createApiClient(server.url, token);
  const host = await connectTerminalHost({
    socketPath: join(world.home, "run", "host.sock"),
    stateDir: join(world.home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
  return {
    api,
    pid: server.pid,
    hostPid: host.host()?.pid ?? Number.NaN,
    async start(agent) {
      const { status, body } = await api.post<{ sessionId: string }>("/api/coding/spawn", {
        agent,
        dir: world.repository,
        ...size,
      });
      if (status !== 200) throw new Error(`spawn answered ${status}: ${JSON.stringify(body)}`);
      return body.sessionId;
    },
    view: (sessionId) => openViewer(server.url, { sessionId, token }),
    async viewElsewhere(sessionId, text) {
      const viewer = fork(join(import.meta.dirname, "flood-viewer.ts"), [server.url, sessionId, token]);
      await once(viewer, "message");
      viewer.send(text);
      viewer.unref();
      viewer.channel?.unref();
    },
    async closeSession(sessionId) {
      await api.post("/api/coding/coding_close_session", { sessionId });
    },
    async close() {
      await api.post("/api/coding/coding_close_all", {});
      await host.close();
      await server.end("SIGTERM");
      await world.close();
    },
  };
}

const sampleLine = (n: number): string =>
  `${String(n).padStart(6)} \x1b[3${n % 8}mcompiled\x1b[0m src/module-${n}/index.ts in ${(n * 37) % 911} ms\n`;

/** A file of coloured lines, as a build prints them. */
export function writeSample(folder: string, bytes: number): string {
  const block = Buffer.from(Array.from({ length: 12_000 }, (_, n) => sampleLine(n)).join(""));
  const path = join(folder, `sample-${bytes}`);
  const whole = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += block.length) block.copy(whole, at);
  writeFileSync(path, whole);
  return path;
}
