import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { type HttpConfig, terminalSocket } from "../../src/http/index.ts";
import { terminalSocketPath } from "../../src/http/terminal-socket.ts";
import type { Viewer, ViewerLink, ViewRequest } from "../../src/terminals/index.ts";
import { startHttpServer } from "./http-server.ts";

interface Seen {
  readonly request: ViewRequest;
  readonly link: ViewerLink;
  readonly received: { readonly text: string; readonly isBinary: boolean }[];
  drained: number;
  left: boolean;
}

/** The socket's route on a real server, with viewers that only record their calls. */
export async function startTerminalSocket(config: Partial<HttpConfig> = {}, clock: Clock = systemClock) {
  const viewers: Seen[] = [];
  const view = (request: ViewRequest, _caller: unknown, link: ViewerLink): Viewer => {
    const seen: Seen = { request, link, received: [], drained: 0, left: false };
    viewers.push(seen);
    link.sendText("welcome");
    return {
      receive: (data, isBinary) => void seen.received.push({ text: data.toString("latin1"), isBinary }),
      drained: () => void (seen.drained += 1),
      leave: () => void (seen.left = true),
    };
  };
  const server = await startHttpServer(() => [terminalSocket({ viewTerminal: view })], config, { clock });
  const open = (query: string, headers: Record<string, string> = {}, protocols: string[] = []): WebSocket => {
    const url = `${server.url.replace("http", "ws")}${terminalSocketPath}${query}`;
    const ws = new WebSocket(url, protocols, { headers });
    ws.on("error", () => undefined); // its close or its response says more
    onTestFinished(() => ws.terminate());
    return ws;
  };
  /** The code and reason of its close, or the HTTP status. */
  const outcome = async (ws: WebSocket): Promise<{ readonly code: number; readonly reason: string }> =>
    new Promise((resolve) => {
      ws.on("unexpected-response", (_request, { statusCode = 0 }) => resolve({ code: statusCode, reason: "" }));
      ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  return { ...server, viewers, open, outcome };
}
