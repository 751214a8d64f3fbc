import headlessModule from "@xterm/headless";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { createTerminalFeed, type TerminalFeed } from "./terminal-feed.ts";

const terminals: InstanceType<typeof headlessModule.Terminal>[] = [];

afterEach(() => {
  for (const terminal of terminals.splice(0)) terminal.dispose();
});

function terminalOf(cols = 40, rows = 5) {
  const terminal = new headlessModule.Terminal({ cols, rows, allowProposedApi: true, scrollback: 1_000 });
  terminals.push(terminal);
  return terminal;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const drained = (feed: TerminalFeed): Promise<void> => new Promise((resolve) => feed.whenDrained(resolve));

function rowsOf(terminal: InstanceType<typeof headlessModule.Terminal>): readonly string[] {
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "").filter(
    (row) => row !== "",
  );
}

describe("a terminal's feed", () => {
  it("applies each size at its place in the output", async () => {
    const terminal = terminalOf(10);
    const feed = createTerminalFeed(terminal);
    feed.write(bytes("0123456789AB\r\n"));
    feed.resize({ cols: 5, rows: 5 });
    feed.write(bytes("01234567\r\n"));
    feed.resize({ cols: 20, rows: 5 });
    feed.write(bytes("end"));
    await drained(feed);
    expect(terminal.cols).toBe(20);
    expect(rowsOf(terminal).join("")).toBe("0123456789AB01234567end");
  });

  it("loses no character that is split between two frames", async () => {
    const text = "żółć 漢字 🙂 é".repeat(20);
    const data = bytes(text);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: data.length - 1 }), { maxLength: 12 }), async (cuts) => {
        const terminal = terminalOf(1_000);
        const feed = createTerminalFeed(terminal);
        let from = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), data.length]) {
          feed.write(data.subarray(from, cut));
          await drained(feed);
          from = cut;
        }
        expect(rowsOf(terminal).join("")).toBe(text);
      }),
      { numRuns: 30 },
    );
  });

  it("loses none either when bytes arrive one by one, where a terminal alone loses 考", async () => {
    const terminal = terminalOf();
    const feed = createTerminalFeed(terminal);
    for (const byte of bytes("é考漢🙂é")) {
      feed.write(new Uint8Array([byte]));
      await drained(feed);
    }
    expect(rowsOf(terminal)).toEqual(["é考漢🙂é"]);
  });

  it("replaces pending and shown output with a screen, even in the middle of a sequence", async () => {
    const terminal = terminalOf();
    const feed = createTerminalFeed(terminal);
    feed.write(bytes("old\r\nold\x1b[31;1m\x1b]0;unfinished"));
    await drained(feed);
    feed.write(bytes("never shown "));
    feed.resize({ cols: 30, rows: 4 });
    feed.repaint(bytes("new"));
    await drained(feed);
    expect(rowsOf(terminal)).toEqual(["new"]);
    expect(terminal.cols).toBe(30);
    expect(terminal.buffer.active.getLine(0)?.getCell(0)?.isBold()).toBe(0);
  });

  it("accepts input up to its limit, and each piece as a whole or not at all", async () => {
    const terminal = terminalOf();
    const feed = createTerminalFeed(terminal, { maxWaitingBytes: 1_000 });
    expect(feed.write(bytes("x".repeat(600)))).toBe(true); // being written
    expect(feed.write(bytes("y".repeat(600)))).toBe(true);
    expect(feed.write(bytes("z".repeat(600)))).toBe(false);
    await drained(feed);
    expect(rowsOf(terminal).join("")).toBe("x".repeat(600) + "y".repeat(600));
    expect(feed.write(bytes("z"))).toBe(true);
    await drained(feed);
    feed.write(bytes("begun"));
    feed.write(bytes("dropped"));
    feed.drop();
    expect(feed.write(bytes("-".repeat(900)))).toBe(true);
    await drained(feed);
    expect(rowsOf(terminal).join("")).toMatch(/yzbegun-{900}$/);
  });
});
