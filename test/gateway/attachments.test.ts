import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApiClient } from "../support/gateway.ts";
import { createRawMcpClient } from "../support/mcp-raw.ts";
import { picture } from "../support/pictures.ts";
import { plantTranscript } from "../support/planted-sessions.ts";
import { runCommand } from "../support/run-cli.ts";
import { uploader } from "../support/upload.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 60_000;

async function onDisk(): Promise<readonly string[]> {
  const folder = join(used.world.home, "attachments");
  return existsSync(folder) ? readdir(folder) : [];
}

test("a file that is too large, no file of its name, or called by a path is refused, and nothing of it is left", async () => {
  const { upload } = uploader(used.gateway);
  const html = Buffer.from("<script>alert(1)</script>");
  const refused = [
    [413, "attachment_too_large", await upload("a.txt", Buffer.alloc(21 * 1024 * 1024, "a"))],
    [415, "attachment_type_refused", await upload("a.png", Buffer.concat([picture(1), html]))],
    [415, "attachment_type_refused", await upload("a.png", html)],
    [400, "invalid_request", await upload("../a.png", picture(1))],
    [400, "invalid_request", await upload("..", picture(1))],
  ] as const;
  for (const [status, code, answer] of refused) expect(answer).toMatchObject({ status, body: { code } });
  expect(await onDisk()).toEqual([]);
});

test("an uploaded file is sent with a prompt, shown in its turn, served without being run, and forgotten with the session", async () => {
  const { gateway, world } = used;
  const { upload, download, remove, forget } = uploader(gateway);
  const note = await upload("Notiz ü.md", Buffer.from("# <script>alert(1)</script>"));
  const shot = await upload("shot.png", picture(1));
  expect([note.status, shot.status]).toEqual([201, 201]);
  const [noteId, shotId] = [String(note.body["attachmentId"]), String(shot.body["attachmentId"])];
  const ask = { agent: "scripted", dir: world.repository, prompt: "look", attachments: [shotId, noteId], waitMs };
  // Until a prompt uses them, they are of the token that uploaded them.
  const token = await gateway.tokenFor(["coding:read", "coding:write", "coding:drive"]);
  const another = uploader({ url: gateway.url, token });
  expect((await another.download(shotId)).status).toBe(404);
  expect((await another.remove(shotId)).status).toBe(404);
  expect(await createApiClient(gateway.url, token).post("/api/coding/coding_ask", ask)).toMatchObject({
    status: 404,
    body: { code: "attachment_not_found" },
  });
  const { sessionId, turns } = await gateway.api.ask(ask);
  expect(turns?.[0]).toMatchObject({ text: "look" });
  const read = await gateway.api.read(sessionId);
  expect(read.turns[0]?.attachments).toEqual([
    { attachmentId: shotId, name: "shot.png", mediaType: "image/png", sizeBytes: picture(1).length },
    { attachmentId: noteId, name: "Notiz ü.md", mediaType: "text/plain", sizeBytes: 27 },
  ]);
  const asked = world.modelServer.requests.findLast(({ kind }) => kind === "turn");
  expect(asked?.prompt).toContain(`attachments/${shotId}/shot.png`);
  expect((await another.download(shotId)).status, "it is the session's").toBe(200);
  const [image, text] = [await download(shotId), await download(noteId)];
  expect(image.headers.get("content-type")).toBe("image/png");
  expect(image.headers.get("content-disposition")).toMatch(/^inline;/);
  expect(text.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(text.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''Notiz%20%C3%BC.md");
  for (const { headers } of [image, text]) {
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/^sandbox;/);
  }
  expect(Buffer.from(await image.arrayBuffer()).equals(picture(1))).toBe(true);
  const other = await gateway.api.post("/api/coding/coding_ask", { ...ask, prompt: "look again" });
  expect(other, "it belongs to the first session").toMatchObject({
    status: 404,
    body: { code: "attachment_not_found" },
  });
  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  expect((await remove(noteId)).status).toBe(204);
  const deleted = await gateway.api.post("/api/coding/coding_ask", { ...ask, sessionId, attachments: [noteId] });
  expect(deleted).toMatchObject({ status: 404, body: { code: "attachment_not_found" } });
  expect(await onDisk()).toEqual([shotId]);
  expect(await (await forget(sessionId)).json()).toMatchObject({ attachments: 1 });
  expect(await onDisk()).toEqual([]);
});

test("the command line uploads each --attach and sends them with the prompt; a refused one sends nothing", async () => {
  const { world } = used;
  const [good, bad] = [join(world.root, "one.png"), join(world.root, "two.png")];
  await writeFile(good, picture(2));
  await writeFile(bad, "<html>");
  const coding = (...argv: readonly string[]) =>
    runCommand(["coding", "ask", "--agent", "scripted", "--dir", world.repository, ...argv], {
      ports: { socketPath: async () => join(world.home, "run", "gateway.sock") },
      cwd: world.root,
    });
  const before = world.modelServer.requests.length;
  expect(await coding("--attach", "two.png", "look here")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("attachment_type_refused"),
  });
  expect((await coding("--attach", "missing.png", "look here")).stderr).toContain("There is no file at");
  expect(world.modelServer.requests.length).toBe(before);
  const asked = await coding("--attach", "one.png", "--attach", good, "look here");
  expect(asked, asked.stderr).toMatchObject({ code: 0 });
  const got = world.modelServer.requests.findLast(({ kind }) => kind === "turn")?.prompt ?? "";
  expect(got.match(/attachments\/[0-9a-f-]{36}\/one\.png/g)).toHaveLength(2);
});

test("coding_ask over MCP takes the ids of uploaded files", async () => {
  const { gateway, world } = used;
  const { upload, token } = uploader(gateway);
  const attachmentId = String((await upload("over-mcp.png", picture(3))).body["attachmentId"]);
  const client = createRawMcpClient(`${gateway.url}/mcp`, token);
  await client.initialize();
  const ask = { agent: "scripted", dir: world.repository, prompt: "look over there", attachments: [attachmentId] };
  const answer = await client.call(1, "coding_ask", { ...ask, waitMs });
  await expect.poll(() => answer.text, { timeout: waitMs }).toContain("look over there");
  const got = world.modelServer.requests.findLast(({ kind }) => kind === "turn")?.prompt;
  expect(got).toContain(`attachments/${attachmentId}/over-mcp.png`);
});

test("images that a tool returned are served by their turn and call, never as anything but an image", async () => {
  const { gateway, world } = used;
  const image = (bytes: Buffer, type: string) => ({
    type: "image",
    source: { type: "base64", data: bytes.toString("base64"), media_type: type },
  });
  const sessionId = await plantTranscript(world, {
    prompt: "look",
    blocks: [{ type: "tool_use", id: "toolu/1", name: "Read", input: {} }],
    results: { "toolu/1": [image(Buffer.from("<svg onload=alert(1)>"), "image/png"), image(picture(8), "text/html")] },
  });
  const isFound = async () => (await gateway.api.post("/api/coding/coding_read_session", { sessionId })).status === 200;
  await expect.poll(isFound, { timeout: 60_000, interval: 50 }).toBe(true);
  const { turns } = await gateway.api.read(sessionId);
  expect(turns[1]?.blocks).toMatchObject([
    { id: "toolu/1", result: { images: [{ mediaType: "image/png", sizeBytes: picture(8).length }] } },
  ]);
  const { token } = uploader(gateway);
  const authorization = `Bearer ${token}`;
  const get = (rest: string, headers: Record<string, string> = { authorization }) =>
    fetch(`${gateway.url}/api/coding/sessions/${sessionId}/turns/${rest}`, { headers });
  const served = await get("1/image?call=toolu%2F1");
  expect(Object.fromEntries(served.headers)).toMatchObject({
    "content-type": "image/png",
    "content-disposition": "inline; filename*=UTF-8''turn-1.png",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  });
  expect(Buffer.from(await served.arrayBuffer()).equals(picture(8))).toBe(true);
  for (const missing of ["1/image?call=toolu%2F1&image=1", "1/image?call=other", "0/image?call=toolu%2F1"]) {
    const answer = await get(missing);
    expect([answer.status, await answer.json()], missing).toMatchObject([404, { code: "image_not_found" }]);
  }
  expect((await get("1/image?call=toolu%2F1&image=20")).status).toBe(400);
  expect((await get("1/image?call=toolu%2F1", {})).status).toBe(401);
});
