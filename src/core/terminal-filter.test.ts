import serializeModule from "@xterm/addon-serialize";
import headlessModule from "@xterm/headless";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTerminalFilter } from "./terminal-filter.ts";

const esc = "\x1b";
const bell = "\x07";

function filtered(...chunks: (string | Uint8Array)[]): string {
  const filter = createTerminalFilter();
  return chunks.map((chunk) => filter.write(chunk)).join("");
}

/** The state of a terminal after this output: cells, colours, modes, cursor. */
async function shown(output: string): Promise<string> {
  const terminal = new headlessModule.Terminal({ cols: 40, rows: 12, scrollback: 200, allowProposedApi: true });
  const serializer = new serializeModule.SerializeAddon();
  terminal.loadAddon(serializer);
  const titles: string[] = [];
  terminal.onTitleChange((title) => titles.push(title));
  await new Promise<void>((written) => terminal.write(output, written));
  const { cursorX, cursorY, type } = terminal.buffer.active;
  const picture = JSON.stringify([serializer.serialize(), terminal.modes, cursorX, cursorY, type, titles]);
  terminal.dispose();
  return picture;
}

const good = [
  "plain text ",
  "füß 漢字 😀 👩‍👩‍👧 e\u0301 ",
  "\r\n",
  "\ttab",
  "\b\b",
  bell,
  `${esc}[1;31;48;5;17mred${esc}[0m`,
  `${esc}[38;2;1;2;3m24 bit${esc}[39m`,
  `${esc}[4:3;58:2::255:0:0mcurly${esc}[m`,
  `${esc}[H`,
  `${esc}[5;10Hthere`,
  `${esc}[2J`,
  `${esc}[K`,
  `${esc}[?2K`,
  `${esc}[3A${esc}[2B${esc}[C${esc}[D`,
  `${esc}[2L${esc}[M`,
  `${esc}[3@${esc}[2P${esc}[4X`,
  `x${esc}[3b`,
  `${esc}[2;8r`,
  `${esc}[r`,
  `${esc}[2S${esc}[T`,
  `${esc}7saved${esc}8`,
  `${esc}[s${esc}[u`,
  `${esc}[?25l`,
  `${esc}[?25h`,
  `${esc}[?1049h`,
  `${esc}[?1049l`,
  `${esc}[?1000;1006h`,
  `${esc}[?1000l`,
  `${esc}[?2004h`,
  `${esc}[?7l`,
  `${esc}[?7h`,
  `${esc}[?1h${esc}=`,
  `${esc}[?1l${esc}>`,
  `${esc}[4hins${esc}[4l`,
  `${esc}(0lqk${esc}(B`,
  `${esc}D${esc}M${esc}E`,
  `${esc}[2 q`,
  `${esc}#8`,
  `${esc}[!p`,
  `${esc}]0;a title${bell}`,
  `${esc}]2;tïtle${esc}\\`,
  `${esc}]8;id=1;https://example.invalid/a?b=c${esc}\\link${esc}]8;;${esc}\\`,
  `${esc}[3g${esc}H`,
  `${esc}[10G${esc}[4d${esc}[2a${esc}[2e`,
];

const bad = [
  `${esc}]52;c;RVZJTA==${bell}`,
  `${esc}]52;c;?${esc}\\`,
  `${esc}]1337;File=name=RVZJTA==:EVIL${bell}`,
  `${esc}]1337;SetMark${bell}`,
  `${esc}]4;1;?${bell}`,
  `${esc}]4;1;rgb:00/00/00${bell}`,
  `${esc}]10;?${bell}`,
  `${esc}]11;#000000${esc}\\`,
  `${esc}]104${bell}`,
  `${esc}]7;file://host/EVIL${bell}`,
  `${esc}]9;EVIL${bell}`,
  `${esc}]50;EVIL${bell}`,
  `${esc}]133;A${bell}`,
  `${esc}]777;notify;EVIL;EVIL${bell}`,
  `${esc}]EVIL${bell}`,
  `${esc}P$qm${esc}\\`,
  `${esc}P+q544e${esc}\\`,
  `${esc}Pq#0;2;0;0;0EVIL${esc}\\`,
  `${esc}_GEVIL${esc}\\`,
  `${esc}^EVIL${esc}\\`,
  `${esc}XEVIL${esc}\\`,
  `\u009052;EVIL\u009c`,
  `\u009d52;c;EVIL\u009c`,
  `\u009fEVIL\u009c`,
  `\u009eEVIL\u009c`,
  `\u0098EVIL\u009c`,
  `\u009b6n`,
  `\u009b21t`,
  `${esc}[20t`,
  `${esc}[21t`,
  `${esc}[8;10;10t`,
  `${esc}[22;0t`,
  `${esc}[c`,
  `${esc}[0c`,
  `${esc}[>c`,
  `${esc}[=c`,
  `${esc}Z`,
  `${esc}[5n`,
  `${esc}[6n`,
  `${esc}[?6n`,
  `${esc}[?996n`,
  `${esc}[?1$p`,
  `${esc}[4$p`,
  `${esc}[>q`,
  `${esc}[>0q`,
  `${esc}[?u`,
  `${esc}[>1u`,
  `${esc}[<u`,
  `${esc}[>4;2m`,
  `${esc}[?4m`,
  `${esc}[x`,
  `${esc}[5i`,
  `${esc}[2h`,
  `${esc}[?2031h`,
  `${esc}[?2048h`,
  `${esc}[?1;2S`,
  `${esc}[1;2;3;4;5T`,
  `${esc}[1;2;3;4*y`,
  `${esc}[#|`,
  `${esc}[62;1"p`,
  `${esc} G`,
  `${esc}%@`,
  "\x05",
  `${esc}]52;c;RVZJTA==\x18`,
  `${esc}]0;half\x1a`,
  `${esc}[1;2\x18`,
  `${esc}]52;c;EVIL${esc}[m`,
  `${esc}[6\x0en\x0f`,
  `${esc}]5\x0f2;c;EVIL${bell}`,
];

/** An independent check of everything that may pass. */
const allowed =
  /^(?:[^\x00-\x1f\x7f-\x9f]|[\x07-\x0f]|\x1b\][012];[^\x00-\x1f\x7f-\x9f]*\x1b\\|\x1b\]8;(?:id=[\w.-]+)?;(?:https?:\/\/[!-~]+)?\x1b\\|\x1b\[[\d;:]*[@-HJ-MPSTXZ`abdefghlmrsu]|\x1b\[[IKT\d;]*|\x1b\[\?[\d;]*[hlJK]|\x1b\[\d* [@Aq]|\x1b\[!p|\x1b[78=>DEHMc#]8?|\x1b[()*+].)*$/u;

const part = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...good).map((text) => ({ text, isGood: true })) },
  { weight: 2, arbitrary: fc.constantFrom(...bad).map((text) => ({ text, isGood: false })) },
);

function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
}

describe("the filter over a program's output", () => {
  it.each(good)("lets %j show what it showed", async (text) => {
    expect(await shown(`before${filtered(text)}after`)).toBe(await shown(`before${text}after`));
  });

  it.each(bad)("lets nothing of %j through", (text) => {
    expect(filtered(`a${text}z`).replace(`${esc}[m`, "").replace("\x0e\x0f", "").replace("\x0e", "")).toBe("az");
  });

  it("shows the good of any mixture as it was, and nothing of the bad, wherever it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 30 }),
        fc.array(fc.nat(3_000), { maxLength: 40 }),
        async (parts, places) => {
          const all = parts.map(({ text }) => `${text}.`).join("");
          const out = filtered(...cut(Buffer.from(all), places));
          expect(out).toMatch(allowed);
          expect(out).not.toMatch(/EVIL|RVZJTA/);
          const wanted = parts.map(({ text, isGood }) => (isGood ? `${text}.` : `${tail(text)}.`)).join("");
          expect(await shown(out)).toBe(await shown(wanted));
        },
      ),
      { numRuns: 120 },
    );
  });

  it("lets only what is known through, of any characters at all", () => {
    const character = fc.oneof(
      fc.constantFrom(
        ...Array.from('\x1b\x07\x18\x9c\x9b\x9d\x90\x05[]P_^X\\;?>=<!$" #%()012345789cnhltqpuxmAZzHJ:\x0e\x7f'),
      ),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(
        fc.array(character, { maxLength: 60 }),
        fc.array(fc.nat(200), { maxLength: 10 }),
        (characters, places) => {
          const bytes = Buffer.from(characters.join(""));
          const out = filtered(...cut(bytes, places));
          expect(out).toBe(filtered(bytes));
          expect(out).not.toMatch(/[\x00-\x06\x10-\x1a\x1c-\x1f\x7f-\x9f]/);
          expect(out).not.toMatch(/\x1b\](?![0128];)|\x1b[PX^_Z%k ]|\x1b\[(?!!p)[^@-~]*[cntxip]/);
          expect(out.isWellFormed()).toBe(true);
          expect(filtered(out)).toBe(out);
        },
      ),
      { numRuns: 1_200 },
    );
  });

  it("makes valid text of bytes that are none", () => {
    expect(filtered(Uint8Array.of(0x61, 0xff, 0xc3), Uint8Array.of(0xa9, 0xe2, 0x82, 0x62))).toBe("a\ufffdé\ufffdb");
    expect(filtered(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\ufeffa");
  });

  it("resumes after an unterminated string, at the next escape or the maximum length", () => {
    expect(filtered(`${esc}]52;c;`, "AAAA".repeat(100), `${esc}[1mon`)).toBe(`${esc}[1mon`);
    expect(filtered(`${esc}PAAAA`, "\x18on")).toBe("on");
    const filter = createTerminalFilter({ maxStringLength: 1_000 });
    const out = `${filter.write(`${esc}_`)}${Array.from({ length: 30 }, () => filter.write("A".repeat(100))).join("")}`;
    expect(out).toBe("A".repeat(1_900));
  });

  it("does not end a long string early", () => {
    expect(filtered(`${esc}P`, "A".repeat(5_000_000), `${esc}\\on`)).toBe("on");
  });

  it("keeps links to the web, without what else they say, and ends a link that leads elsewhere", () => {
    const link = (target: string): string => filtered(`${esc}]8;x=1:id=a.b;${target}${bell}`);
    expect(link("HTTPS://example.invalid/x")).toBe(`${esc}]8;id=a.b;HTTPS://example.invalid/x${esc}\\`);
    for (const target of [
      "file:///etc/passwd",
      "javascript:alert(1)",
      "ssh://host",
      "https://",
      "https://a b",
      "https://ä",
    ]) {
      expect(link(target)).toBe(`${esc}]8;;${esc}\\`);
    }
  });

  it("keeps titles, without what hides or reverses their text", () => {
    expect(filtered(`${esc}]0;a\u202eb\x0b\tc${bell}`)).toBe(`${esc}]0;abc${esc}\\`);
    expect(filtered(`${esc}]2;${"t".repeat(5_000)}${bell}`)).toBe(`${esc}]2;${"t".repeat(1_024)}${esc}\\`);
  });

  it("keeps the known modes of a list and caps huge numbers", () => {
    expect(filtered(`${esc}[?3;25;2031;1049h`)).toBe(`${esc}[?25;1049h`);
    expect(filtered(`a${esc}[2147483647b`)).toBe(`a${esc}[99999b`);
  });

  it("discards held output when output continues elsewhere", () => {
    const filter = createTerminalFilter();
    filter.write(`${esc}]52;c;AAAA`);
    filter.reset();
    expect(filter.write("text")).toBe("text");
  });

  it("lets 20 MB of text and colours through in a moment of the processor", () => {
    const filter = createTerminalFilter();
    const chunk = Buffer.from(`${esc}[32mgreen${esc}[0m and ${"plain text ".repeat(20)}\r\n`.repeat(250));
    const before = process.threadCpuUsage();
    for (let sent = 0; sent < 20_000_000; sent += chunk.length) filter.write(chunk);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(3_000); // about 300 alone
  });
});

/** The part that must not be filtered: it ended the bad sequence, or is executed in the middle of it. */
function tail(text: string): string {
  if (text.endsWith(`${esc}[m`)) return `${esc}[m`;
  return text.startsWith(`${esc}[6\x0e`) ? "\x0e\x0f" : "";
}
