import xterm from "@xterm/headless";
import { expect, test } from "vitest";
import { linksIn } from "./terminal-links.ts";

async function linksOf(output: string, cols = 40): Promise<readonly string[]> {
  const terminal = new xterm.Terminal({ cols, rows: 6, scrollback: 100, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(output.replaceAll("\n", "\r\n"), resolve));
  const links = linksIn(terminal.buffer.active);
  terminal.dispose();
  return links;
}

const long = `https://login.example/oauth/authorize?client_id=${"a1".repeat(60)}&state=${"b".repeat(20)}`;

test("an address wrapped over rows that has scrolled off the screen is one link", async () => {
  expect(await linksOf(`Visit: ${long}\n${"Paste code here\n".repeat(10)}`)).toEqual([long]);
  expect(await linksOf(`Visit: ${long}`, 17)).toEqual([long]);
});

test("lists the newest five, each once, without surrounding punctuation", async () => {
  expect(await linksOf(`(see https://a.example/x). https://a.example/x, <http://b.example>\n`)).toEqual([
    "https://a.example/x",
    "http://b.example/",
  ]);
  const many = [1, 2, 3, 4, 5, 6, 7].map((nth) => `https://example.org/${nth}`);
  expect(await linksOf(many.join("\n"))).toEqual(many.slice(-5));
});

test("only http and https, no password, and not the login's own server", async () => {
  const others =
    "javascript:alert(1) file:///etc/passwd ftp://a.example https://user:pw@a.example/ http://localhost:1455.";
  expect(await linksOf(others, 200)).toEqual([]);
  expect(await linksOf("http://127.0.0.1:1455/auth?x=1", 200)).toEqual(["http://127.0.0.1:1455/auth?x=1"]);
});
