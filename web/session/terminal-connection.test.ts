import { afterEach, describe, expect, it, vi } from "vitest";
import { frame, hello, startWireServer, type WireServer } from "../../test/support/wire-server.ts";
import {
  createTerminalConnection,
  type TerminalConnection,
  type TerminalConnectionOptions,
} from "./terminal-connection.ts";
import type { ConnectionState, TicketAnswer } from "./terminal-protocol.ts";

/** The viewer's output, as bytes. */
interface Shown {
  text: string;
  readonly sizes: string[];
  /** Refuses output beyond this many characters. */
  limit: number;
  drain(): void;
}

const open: { close(): unknown }[] = [];

afterEach(() => {
  for (const it of open.splice(0).toReversed()) it.close();
  vi.useRealTimers();
});

async function wireServer(onSocket: Parameters<typeof startWireServer>[0]): Promise<WireServer> {
  const server = await startWireServer(onSocket);
  open.push(server);
  return server;
}

function view(
  { url }: WireServer,
  more: Partial<TerminalConnectionOptions> = {},
): { readonly connection: TerminalConnection; readonly states: ConnectionState[]; readonly shown: Shown } {
  const states: ConnectionState[] = [];
  let waiting: (() => void)[] = [];
  const shown: Shown = {
    text: "",
    sizes: [],
    limit: Number.POSITIVE_INFINITY,
    drain() {
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback();
    },
  };
  const connection = createTerminalConnection({
    url,
    sessionId: "s 1",
    mode: undefined,
    size: { cols: 100, rows: 30 },
    requestTicket: async () => ({ kind: "ticket", ticket: "k" }),
    feed: {
      write(data) {
        if (shown.text.length + data.length > shown.limit) return false;
        shown.text += Buffer.from(data).toString();
        return true;
      },
      drop: () => undefined,
      repaint(data) {
        shown.text = Buffer.from(data).toString();
      },
      resize({ cols, rows }) {
        shown.sizes.push(`${cols}x${rows}`);
      },
      whenDrained(callback) {
        waiting.push(callback);
      },
    },
    onState: (state) => states.push(state),
    backoff: { firstMs: 5, longestMs: 20 },
    ...more,
  });
  open.push(connection);
  return { connection, states, shown };
}

describe("a terminal's connection", () => {
  it("sends its ticket and size, then shows the screen, the output and the number of viewers", async () => {
    const server = await wireServer((socket) => {
      socket.send(hello(10));
      socket.send(frame("screen", 10, "screen"));
      socket.send(JSON.stringify({ kind: "viewers", drivers: 1, observers: 2, sizer: true }));
      socket.send(JSON.stringify({ kind: "of a later version" }));
      socket.send(frame("output", 10, " and"));
      socket.send(JSON.stringify({ kind: "size", cols: 90, rows: 20 }));
      socket.send(frame("output", 14, " more"));
    });
    const { shown, connection } = view(server);
    await expect.poll(() => shown.text).toBe("screen and more");
    expect(shown.sizes).toEqual(["80x24", "90x20"]);
    expect(Object.fromEntries(server.queries[0] ?? [])).toEqual({
      session_id: "s 1",
      ticket: "k",
      cols: "100",
      rows: "30",
    });
    expect(connection.state()).toMatchObject({ kind: "live", mode: "drive", viewers: { observers: 2, sizer: true } });
  });

  it("resumes after a disconnect, with nothing repeated or lost", async () => {
    const server = await wireServer((socket, nth) => {
      if (nth === 0) {
        socket.send(hello(0));
        socket.send(frame("screen", 0, ""));
        socket.send(frame("output", 0, "abc"));
        socket.send(frame("output", 3, "def"), () => socket.terminate());
      } else {
        socket.send(hello(6, { continued: true }));
        socket.send(frame("output", 4, "efghi")); // the client already has two of them
        socket.send(frame("output", 9, "j"));
      }
    });
    const { shown, states } = view(server);
    await expect.poll(() => shown.text).toBe("abcdefghij");
    expect(server.queries[1]?.get("terminal")).toBe("t1");
    expect(server.queries[1]?.get("from")).toBe("6");
    expect(states.map(({ kind }) => kind)).toEqual(["connecting", "live", "waiting", "connecting", "live"]);
  });

  it("replaces the screen when output is missing or continues elsewhere than requested", async () => {
    const server = await wireServer((socket, nth) => {
      if (nth === 0) {
        socket.send(hello(0));
        socket.send(frame("output", 0, "abc"));
        socket.send(frame("output", 4, "e"));
      } else {
        socket.send(hello(9));
        socket.send(frame("screen", 9, "all of it"));
      }
    });
    const { shown } = view(server);
    await expect.poll(() => shown.text).toBe("all of it");
    expect(server.queries[1]?.get("terminal")).toBe("t1"); // so that the gateway does not restart an ended agent
    expect(server.queries[1]?.has("from")).toBe(false);
  });

  it("reconnects when the gateway has been silent for too long, and resumes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
    const server = await wireServer((socket, nth) => {
      socket.send(hello(nth === 0 ? 0 : 3, { continued: nth > 0 }));
      socket.send(frame("output", nth === 0 ? 0 : 3, nth === 0 ? "abc" : "def"));
    });
    const { shown, states } = view(server);
    await expect.poll(() => shown.text).toBe("abc");
    await vi.advanceTimersByTimeAsync(30_000);
    server.sockets[0]?.send(JSON.stringify({ kind: "alive" }));
    await expect.poll(() => vi.advanceTimersByTimeAsync(10).then(() => states.at(-1)?.kind)).toBe("live");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(server.sockets).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(30_000);
    await expect.poll(() => shown.text).toBe("abcdef");
    expect(server.queries[1]?.get("from")).toBe("3");
  });

  it("reports the exit after all output, and does not reconnect", async () => {
    const server = await wireServer((socket) => {
      socket.send(hello(0));
      socket.send(frame("output", 0, "bye"));
      socket.send(JSON.stringify({ kind: "exit", exitCode: 130, signal: "SIGINT" }));
      socket.close(1000);
    });
    const { shown, states } = view(server);
    await expect.poll(() => states.at(-1)).toEqual({ kind: "ended", exitCode: 130, signal: "SIGINT" });
    expect(shown.text).toBe("bye");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.sockets.length).toBe(1);
  });

  it.each([
    [4403, "not_allowed"],
    [4404, "no_such_session"],
    [4409, "busy_elsewhere"],
    [4400, "bad_request"],
  ] as const)("gives up after close %d: %s", async (code, why) => {
    const server = await wireServer((socket) => socket.close(code, "because"));
    const { states } = view(server);
    await expect.poll(() => states.at(-1)).toEqual({ kind: "stopped", why, reason: "because" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(server.sockets.length).toBe(1);
  });

  it("gets another ticket if its own has expired, and gives up if it was signed out since", async () => {
    const server = await wireServer((socket, nth) => {
      if (nth === 0) return socket.close(4401, "Not signed in.");
      socket.send(hello(0), () => socket.close(4401, "Not signed in."));
    });
    const { states } = view(server);
    await expect.poll(() => states.at(-1)).toEqual({ kind: "stopped", why: "not_signed_in", reason: "Not signed in." });
    expect(states.map(({ kind }) => kind)).toEqual(["connecting", "waiting", "connecting", "live", "stopped"]);
    expect(server.sockets.length).toBe(2);
  });

  it("retries while the gateway is unreachable, and gives up when it gets no ticket", async () => {
    const answers: TicketAnswer[] = [
      { kind: "retry", reason: "away" },
      { kind: "retry", reason: "away" },
      { kind: "stop", why: "not_signed_in", reason: "Sign in again." },
    ];
    const server = await wireServer(() => undefined);
    const { states } = view(server, { requestTicket: async () => answers.shift() ?? { kind: "retry", reason: "?" } });
    await expect.poll(() => states.at(-1)?.kind).toBe("stopped");
    expect(states.filter(({ kind }) => kind === "waiting").length).toBe(2);
    expect(server.sockets.length).toBe(0);
  });

  it("refuses input while disconnected, and does not send it later", async () => {
    const server = await wireServer((socket, nth) => {
      socket.send(hello(0), () => {
        if (nth === 0) socket.terminate();
      });
    });
    const { connection, states } = view(server, { backoff: { firstMs: 150, longestMs: 150 } });
    expect(connection.type("too early")).toBe(false);
    await expect.poll(() => states.at(-1)?.kind).toBe("waiting");
    expect(connection.type("lost?")).toBe(false);
    connection.retryNow();
    await expect.poll(() => states.at(-1)?.kind).toBe("live");
    expect(connection.type("now")).toBe(true);
    await expect.poll(() => server.received).toEqual(['{"kind":"input","data":"now"}']);
  });

  it("sends text in unambiguous frames split between characters, and bytes as binary", async () => {
    const server = await wireServer((socket) => socket.send(hello(0)));
    const { connection } = view(server);
    await expect.poll(() => connection.state().kind).toBe("live");
    const paste = `${"x".repeat(16 * 1024 - 1)}🙂end`;
    expect(connection.type('{"kind":"resize","cols":1,"rows":1}')).toBe(true);
    expect(connection.type(paste)).toBe(true);
    expect(connection.type(new Uint8Array([0x1b, 0xff]))).toBe(true);
    connection.resize({ cols: 70, rows: 20 });
    await expect.poll(() => server.received.length).toBe(5);
    const inputs = server.received.slice(0, 3).map((text) => JSON.parse(String(text)));
    expect(inputs[0]).toEqual({ kind: "input", data: '{"kind":"resize","cols":1,"rows":1}' });
    expect(inputs[1].data + inputs[2].data).toBe(paste);
    expect(inputs[2].data).toBe("🙂end");
    expect(server.received[3]).toEqual(Buffer.from([0x1b, 0xff]));
    expect(server.received[4]).toBe('{"kind":"resize","cols":70,"rows":20}');
  });

  it("an observer sends neither input nor sizes", async () => {
    const server = await wireServer((socket) => socket.send(hello(0, { mode: "observe" })));
    const { connection } = view(server, { mode: "observe" });
    await expect.poll(() => connection.state().kind).toBe("live");
    expect(connection.type("x")).toBe(false);
    connection.resize({ cols: 70, rows: 20 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.received).toEqual([]);
  });

  it("skips output it cannot show in time, keeps sending input, and replaces the screen once it has caught up", async () => {
    const server = await wireServer((socket, nth) => {
      socket.send(hello(nth === 0 ? 0 : 50));
      socket.send(frame("screen", nth === 0 ? 0 : 50, nth === 0 ? "" : "now"));
      if (nth === 0) for (let at = 0; at < 50; at += 10) socket.send(frame("output", at, "x".repeat(10)));
    });
    const { shown, connection, states } = view(server);
    shown.limit = 25;
    await expect.poll(() => shown.text).toBe("x".repeat(20));
    expect(connection.type("stop it")).toBe(true);
    await expect.poll(() => server.received.length).toBe(1);
    await expect
      .poll(() => {
        shown.drain();
        return shown.text;
      })
      .toBe("now");
    expect(server.queries[1]?.has("from")).toBe(false);
    expect(states.every(({ kind }) => kind === "connecting" || kind === "live")).toBe(true);
    await expect.poll(() => server.sockets[0]?.readyState).toBe(3);
    expect(connection.type("still there")).toBe(true);
  });

  it("reconnects once as an observer when the exit arrives while it reconnects for skipped output", async () => {
    const server = await wireServer((socket, nth) => {
      if (nth === 1) return; // never gets a hello
      socket.send(hello(nth === 0 ? 0 : 30));
      if (nth === 0) for (let at = 0; at < 30; at += 10) socket.send(frame("output", at, "x".repeat(10)));
      else {
        socket.send(frame("screen", 30, "the end"));
        socket.send(JSON.stringify({ kind: "exit", exitCode: 0, signal: null }));
        socket.close(1000);
      }
    });
    const { shown, states } = view(server);
    shown.limit = 15;
    await expect
      .poll(() => {
        shown.drain();
        return server.sockets.length;
      })
      .toBe(2);
    server.sockets[0]?.send(JSON.stringify({ kind: "exit", exitCode: 0, signal: null }));
    server.sockets[0]?.close(1000);
    await expect
      .poll(() => {
        shown.drain();
        return states.at(-1)?.kind;
      })
      .toBe("ended");
    expect(shown.text).toBe("the end");
    expect(server.queries[2]?.get("mode")).toBe("observe");
  });

  it("shows the last screen as an observer when the exit arrives while it skips output, and starts nothing", async () => {
    const server = await wireServer((socket, nth) => {
      socket.send(hello(nth === 0 ? 0 : 30));
      if (nth === 0) {
        for (let at = 0; at < 30; at += 10) socket.send(frame("output", at, "x".repeat(10)));
      } else socket.send(frame("screen", 30, "the end"));
      socket.send(JSON.stringify({ kind: "exit", exitCode: 0, signal: null }));
      socket.close(1000);
    });
    const { shown, states } = view(server);
    shown.limit = 15;
    await expect.poll(() => shown.text).toBe("x".repeat(10));
    await expect.poll(() => server.sockets[0]?.readyState).toBe(3);
    shown.drain();
    await expect.poll(() => states.at(-1)?.kind).toBe("ended");
    expect(shown.text).toBe("the end");
    expect(server.queries[1]?.get("mode")).toBe("observe");
  });
});
