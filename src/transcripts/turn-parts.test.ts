import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type FormatName, transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { Turn } from "../wire/turn.ts";
import { createTranscripts } from "./transcripts.ts";

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").toString("base64");
const gif = Buffer.from("GIF89a and more of it").toString("base64");
const jpeg = Buffer.from("ffd8ffe000104a464946", "hex").toString("base64");
const webp = Buffer.from("RIFF\x10\x00\x00\x00WEBPVP8 ", "latin1").toString("base64");
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>').toString("base64");
const html = Buffer.from("<!doctype html><script>alert(1)</script>").toString("base64");

async function promptOf(format: FormatName, lines: readonly unknown[], images = true): Promise<Turn | undefined> {
  const path = join(await makeTempFolder(), "transcript.jsonl");
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return (await transcripts.read(path, format, { limit: 10, images }))?.turns[0];
}

const ofClaude = (...data: readonly string[]): readonly unknown[] => [
  {
    type: "user",
    uuid: "u1",
    sessionId: "s1",
    timestamp: "2026-01-01T00:00:00.000Z",
    message: {
      role: "user",
      content: [
        { type: "text", text: "Look at this" },
        // The type in a transcript is not trusted.
        ...data.map((one) => ({ type: "image", source: { type: "base64", media_type: "image/svg+xml", data: one } })),
      ],
    },
  },
];

test("images in a prompt of Claude Code have the type of their content; other data is left out", async () => {
  const turn = await promptOf("claude", ofClaude(png, svg, jpeg, html, gif, webp));
  expect(turn?.images).toEqual([
    { mediaType: "image/png", data: png },
    { mediaType: "image/jpeg", data: jpeg },
    { mediaType: "image/gif", data: gif },
    { mediaType: "image/webp", data: webp },
  ]);
  expect(turn?.text).toBe("Look at this");
});

test("images are included only on request", async () => {
  expect(await promptOf("claude", ofClaude(png), false)).not.toHaveProperty("images");
});

test("images in prompts of Codex and Gemini CLI are read too", async () => {
  const image = [{ mediaType: "image/png", data: png }];
  const codex = { type: "user_message", message: "Look", images: [`data:image/png;base64,${png}`, "/home/a.png"] };
  expect((await promptOf("codex", [{ type: "event_msg", payload: codex }]))?.images).toEqual(image);
  const content = [
    { type: "text", text: "Look" },
    { type: "image", image_url: `data:text/html;base64,${png}` },
    { type: "image", image_url: `data:image/png;base64,${html}` },
  ];
  const item = { type: "item_completed", item: { type: "UserMessage", content } };
  expect((await promptOf("codex", [{ type: "event_msg", payload: item }]))?.images).toEqual(image);
  const gemini = [
    { sessionId: "s1", startTime: "2026-01-01T00:00:00.000Z" },
    { id: "m1", type: "user", content: [{ text: "Look" }, { inlineData: { mimeType: "image/png", data: png } }] },
  ];
  expect((await promptOf("gemini", gemini))?.images).toEqual(image);
});

test("an image that is too large or not base64 is only named; images beyond the limit are left out", async () => {
  const huge = png + "A".repeat(2_000_000);
  const broken = `${png.slice(0, 20)}"><script>`;
  const turn = await promptOf("claude", ofClaude(huge, broken, ...Array.from({ length: 30 }, () => png)));
  expect(turn?.images?.slice(0, 3).map(({ data }) => data)).toEqual([null, null, png]);
  expect(turn?.images).toHaveLength(20);
});
