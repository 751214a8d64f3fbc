/** What few programs show in one run: all attributes, colours, widths, links, regions, tab stops. */
export function showcase(): string {
  let text = "";
  for (let row = 0; row < 6; row++) {
    for (let x = 0; x < 90; x++) text += `\x1b[48;2;${x * 2};${row * 40};${255 - x * 2}m\x1b[38;2;255;${x * 2};0m▀`;
    text += "\x1b[0m\r\n";
  }
  for (let code = 0; code < 256; code++)
    text += `\x1b[48;5;${code}m${String(code).padStart(4)}${code % 24 === 23 ? "\x1b[0m\r\n" : ""}`;
  text += "\x1b[0m\r\n";
  for (const code of [1, 2, 3, 4, 5, 7, 8, 9, 21, 53, "4:3", "4:4", "4:5", "4:3;58;2;255;0;0", "1;2;3;4;7;31;42"]) {
    text += `\x1b[${code}mattribute ${code}\x1b[0m `;
  }
  text += "\r\n日本語テキスト 한국어 中文 👩‍👩‍👧 🇩🇪 👍🏽 ❤️ e\u0301 ก็ \x1b[7m全角\x1b[0m\r\n";
  text += `${"wide 全角文字 ".repeat(15)}\r\n\x1b[44m${"a wrapped line with a background ".repeat(8)}\x1b[0m\r\n`;
  text +=
    "\x1b]8;;https://example.org/a?b=c\x1b\\a link\x1b]8;;\x1b\\ and \x1b]8;id=x;https://example.org\x1b\\another\x1b]8;;\x1b\\\r\n";
  text += "\x1b(0lqqqqk x  x mqqqqj\x1b(B\r\n\x1b[3g\x1b[10G\x1bH\x1b[33G\x1bH\r1\t2\t3\r\n";
  for (let n = 0; n < 60; n++) text += `\x1b[${31 + (n % 7)}mline ${n} ${"long ".repeat(n)}\x1b[0m\r\n`;
  text +=
    "\x1b[5;20r\x1b[?6h\x1b[3;3Hinside\x1b7\x1b[20;1Hat the end\r\nscrolled\r\n\x1b8\x1b[32mrestored\x1b[?6l\x1b[r\x1b[30;1H";
  text += `\x1b[4hinserted\x1b[10Dmore \x1b[4l\x1b[?7l${"no wrap ".repeat(20)}\x1b[?7h\r\n\x1b[?25l\x1b[4 q\x1b[?1002h\x1b[?1006h\x1b[?2004h`;
  text += "\x1b[?1049h\x1b[2J\x1b[10;10Halternate\x1b[?1h\x1b=\x1b[12;30r";
  for (let n = 0; n < 40; n++) text += `\x1b[30;1H\x1b[35mrow ${n} \x1b[7m日本\x1b[0m\r\n`;
  return `${text}\x1b[r\x1b[5;5Hstill here\x1b[?1049l\x1b[?25h back again\r\n`;
}
