import headlessModule from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { unpooled } from "../../src/core/unpooled.ts";
import { silenceTerminal } from "./silent-terminal.ts";

// It reads its table from the start of the underlying memory, which is sometimes garbage if that memory is shared.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
const queries: Readonly<Record<string, string>> = {
  "primary device attributes": "\x1b[c",
  "secondary device attributes": "\x1b[>c",
  "the cursor's position": "\x1b[6n",
  "the cursor's position, with its page": "\x1b[?6n",
  "the operating status": "\x1b[5n",
  "an ANSI mode": "\x1b[4$p",
  "a private mode": "\x1b[?2004$p",
  "the window's size in characters": "\x1b[18t",
  "the window's size in pixels": "\x1b[14t",
  "a setting": "\x1bP$qm\x1b\\",
  "a capability": "\x1bP+q544e\x1b\\",
  "the foreground": "\x1b]10;?\x07",
  "all colours at once": "\x1b]10;?;?;?\x1b\\",
  "a colour of the palette": "\x1b]4;1;?\x07",
  "the clipboard": "\x1b]52;c;?\x07",
  "the keyboard's protocol": "\x1b[?u",
  "its version": "\x1b[>q",
};

async function answersTo(text: string, silent: boolean): Promise<string> {
  const terminal = new headlessModule.Terminal({
    allowProposedApi: true,
    windowOptions: { getWinSizeChars: true, getWinSizePixels: true },
    logLevel: "off",
  });
  terminal.loadAddon(new graphemesModule.UnicodeGraphemesAddon());
  if (silent) silenceTerminal(terminal.parser);
  let answers = "";
  terminal.onData((data) => {
    answers += data;
  });
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  terminal.dispose();
  return answers;
}

describe("a viewer's terminal", () => {
  it.each(Object.entries(queries))("answers no query for %s", async (_, query) => {
    expect(await answersTo(`before${query}after`, true)).toBe("");
  });

  it("would otherwise answer many of them", async () => {
    expect(await answersTo("\x1b[c\x1b[6n\x1b[?2004$p\x1bP$qm\x1b\\", false)).not.toBe("");
  });

  it("shows the output around a query, and applies colours that are set", async () => {
    const terminal = new headlessModule.Terminal({ allowProposedApi: true });
    silenceTerminal(terminal.parser);
    await new Promise<void>((resolve) =>
      terminal.write("a\x1b[cb\x1b]52;c;aGk=\x07c\x1b]0;title\x07d\x1b]4;1;#fff\x07e", resolve),
    );
    expect(terminal.buffer.active.getLine(0)?.translateToString(true)).toBe("abcde");
    terminal.dispose();
  });
});
