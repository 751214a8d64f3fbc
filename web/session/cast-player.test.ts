import { afterEach, describe, expect, it } from "vitest";
import {
  type CastLine,
  type CastPlayer,
  createCastPlayer,
  type PlaybackState,
  parseCastLine,
  readCast,
} from "./cast-player.ts";

const head: CastLine = { kind: "head", size: { cols: 80, rows: 24 }, startedAt: 1 };
const output = (atS: number, data: string): CastLine => ({ kind: "output", atS, data });

const players: CastPlayer[] = [];
afterEach(() => {
  for (const player of players.splice(0)) player.close();
});

/** A player with a recording of three outputs; the screen at a moment is all output before it. */
function playing(lines: readonly CastLine[], { breakAt = -1 } = {}) {
  const sizes: string[] = [];
  const shown = { text: "", sizes };
  const states: PlaybackState[] = [];
  const opened: number[] = [];
  const player = createCastPlayer({
    async open(fromMs) {
      opened.push(fromMs);
      const first = opened.length === 1;
      return (async function* () {
        yield head;
        const before = lines.filter((line) => line.kind === "output" && line.atS * 1_000 < fromMs);
        if (before.length > 0)
          yield output(fromMs / 1_000, before.map((line) => (line.kind === "output" ? line.data : "")).join(""));
        let nth = 0;
        for (const line of lines) {
          if (line.kind === "head" || line.atS * 1_000 < fromMs) continue;
          if (first && nth++ === breakAt) throw new Error("cut off");
          yield line;
        }
      })();
    },
    feed: {
      write(data) {
        shown.text += new TextDecoder().decode(data);
        return true;
      },
      repaint() {
        shown.text = "";
      },
      resize({ cols, rows }) {
        shown.sizes.push(`${cols}x${rows}`);
      },
      whenDrained: (callback) => callback(),
    },
    onState: (state) => states.push(state),
    longestPauseMs: 30,
  });
  players.push(player);
  return { player, shown, states, opened };
}

const recording = [
  output(0, "a"),
  output(0.01, "b"),
  { kind: "size", atS: 0.02, size: { cols: 100, rows: 30 } } as const,
  output(3_600, "c"),
];

describe("a playback", () => {
  it("shows all output in order, and shortens an idle hour", async () => {
    const { player, shown, states } = playing(recording);
    player.play();
    await expect.poll(() => states.at(-1)?.kind).toBe("ended");
    expect(shown.text).toBe("abc");
    expect(shown.sizes).toEqual(["80x24", "100x30"]);
    expect(states.at(-1)?.atMs).toBe(3_600_000);
    const moments = states.map(({ atMs }) => atMs);
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
  });

  it("shows a moment while it is paused, and continues from there", async () => {
    const { player, shown, states, opened } = playing(recording);
    player.seek(15);
    await expect.poll(() => states.at(-1)?.kind).toBe("paused");
    expect(shown.text).toBe("ab");
    expect(states.at(-1)?.atMs).toBe(15);
    player.play();
    await expect.poll(() => states.at(-1)?.kind).toBe("ended");
    expect(shown.text).toBe("abc");
    expect(opened).toEqual([15, 15]);
  });

  it("requests the rest when the download was cut off", async () => {
    const { player, shown, states } = playing(recording, { breakAt: 2 });
    player.play();
    await expect.poll(() => states.at(-1)?.kind).toBe("ended");
    expect(shown.text).toBe("abc");
  });

  it("reports an error when there is no recording", async () => {
    const states: PlaybackState[] = [];
    const player = createCastPlayer({
      open: () => Promise.reject(new Error("Nothing is recorded.")),
      feed: {
        write: () => true,
        repaint: () => undefined,
        resize: () => undefined,
        whenDrained: (callback) => callback(),
      },
      onState: (state) => states.push(state),
    });
    players.push(player);
    player.play();
    await expect.poll(() => states.at(-1)).toMatchObject({ kind: "failed", error: "Nothing is recorded." });
  });
});

describe("an asciicast", () => {
  it("is read line by line however the network splits it; damaged lines are skipped", async () => {
    const text =
      '{"version":2,"width":80,"height":24,"timestamp":5}\n[0.5,"o","żółć 🙂"]\nrubbish\n[1,"i","typed"]\n[2,"r","90x20"]\n';
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, 1_000]) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const lines: CastLine[] = [];
      for await (const line of readCast(body)) lines.push(line);
      expect(lines).toEqual([
        { kind: "head", size: { cols: 80, rows: 24 }, startedAt: 5 },
        { kind: "output", atS: 0.5, data: "żółć 🙂" },
        { kind: "size", atS: 2, size: { cols: 90, rows: 20 } },
      ]);
    }
    expect(parseCastLine('{"version":1}')).toBeNull();
  });
});
