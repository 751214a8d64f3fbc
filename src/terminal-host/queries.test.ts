import { expect, test } from "vitest";
import { makeHostFixture, scriptSpec, waitUntil } from "../../test/support/terminal-host.ts";
import { createScreenModel } from "./screen-model.ts";

test("with three viewers attached, one answer to its query reaches the program", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = scriptSpec(`
    process.stdin.setRawMode(true);
    let got = "";
    process.stdin.on("data", (data) => {
      got += data;
      if (got === "q") process.stdout.write("\\x1b[c\\x1b[6n");
      // Answers come in the order of the queries: whatever answers the first one has done so by now.
      else if (got.endsWith("R")) console.log("got " + JSON.stringify(got.slice(1)) + " end");
    });
    console.log("ready");`);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready", 10_000);
  const streams = await Promise.all([1, 2, 3].map(async () => client.attach(spec.terminalId)));
  await client.write(spec.terminalId, "q");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines.join("").includes("end"), 10_000);
  const { lines } = await client.snapshot(spec.terminalId);
  expect(lines.find((line) => line.startsWith("got"))).toBe('got "\\u001b[?1;2c\\u001b[2;1R" end');
  for (const stream of streams) stream.close();
});

test("nothing that acts on a viewer's clipboard, title or files is in a picture, in whatever form it came", () => {
  const osc = ["\x1b]", "\u009d"];
  const ends = ["\x07", "\x1b\\", "\u009c"];
  const payloads = [
    "52;c;aGVsbG8=",
    "1337;File=inline=1:AAAA",
    "0;evil",
    "2;evil",
    "9;evil",
    "777;notify;evil",
    "4;1;#ff0000",
  ];
  const strings = ["\x1bP", "\u0090", "\x1b_", "\u009f", "\x1b^", "\u009e", "\x1bX", "\u0098"];
  const attacks = [
    ...osc.flatMap((begin) => payloads.flatMap((payload) => ends.map((end) => `${begin}${payload}${end}`))),
    ...strings.map((begin) => `${begin}G;evil\x1b\\`),
    ...["\x1b[21t", "\u009b21t", "\x1b[20t", "\x1b[c", "\u009bc", "\x1b[6n", "\x1b[>c", "\x1b[5i", "\x1b[22;0t"],
  ];
  for (const attack of attacks) {
    const model = createScreenModel({ cols: 40, rows: 5 }, () => undefined);
    model.write(Buffer.from(`one ${attack}`));
    model.write(Buffer.from(`two${attack.slice(0, -1)}`));
    const { ansi } = model.paint();
    expect(ansi, JSON.stringify(attack)).toMatch(/^(?:[ -~]|\x1b\[[0-9;]*[HmKX])*$/);
    expect(ansi).not.toMatch(/evil|aGV|AAAA/);
    model.close();
  }
});

test("a link's address cannot carry anything but a link", () => {
  const model = createScreenModel({ cols: 40, rows: 5 }, () => undefined);
  model.write(Buffer.from("\x1b]8;id=a\u009d52;c;b;http://x/\u0085\u009b31m\x1b\\text\x1b]8;;\x1b\\"));
  expect(model.paint().ansi.replaceAll(/\x1b(?:\[[0-9;]*[mH]|\]8;[^\x1b]*\x1b\\)/g, "")).not.toMatch(
    /[\x00-\x09\x0e-\x1f\x7f-\x9f]/,
  );
  model.close();
});
