import { describe, expect, test } from "vitest";
import { expectMistakePage, openScene, request } from "../../test/support/decision-scene.ts";
import { scriptedRedirect } from "../../test/support/scripted-oauth.ts";

describe("the consent page", () => {
  const path = `/oauth/authorize?${new URLSearchParams(request).toString()}`;

  test("shows the app, the redirect and the scopes, cannot be framed or cached, and can send its form anywhere", async () => {
    const scene = await openScene();
    const { status, headers, body } = await scene.get(path);
    expect(status).toBe(200);
    expect(body).toContain("Nightly bot");
    expect(body).toContain("app.example");
    expect(body).toContain("The name is not verified");
    expect(body).toMatch(/name="postern_scope.coding:read" checked/);
    expect(body).toMatch(/name="postern_scope.coding:drive" aria/);
    expect(headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "same-origin" });
    const policy = headers["content-security-policy"] ?? "";
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/form-action|unsafe/);
  });

  test("requires a sign-in, and redirects to it and back", async () => {
    const scene = await openScene();
    const { status, headers } = await scene.get(path, []);
    expect(status).toBe(303);
    expect(headers["location"]).toBe(`/sign-in?to=${encodeURIComponent(path)}`);
  });

  test("a link from another site, sent without the strict cookie, goes through a page of our own", async () => {
    const scene = await openScene();
    const { status, headers, body } = await scene.get(path, ["Sec-Fetch-Site: cross-site"]);
    expect(status).toBe(200);
    expect(headers).not.toHaveProperty("location");
    expect(body).toContain(`content="0;url=${path.replaceAll("&", "&amp;")}"`);
    expect(body).not.toContain("<form");
  });

  test("an error is reported to the client by redirect if possible; otherwise it is a page", async () => {
    const scene = await openScene();
    const told = await scene.get(path.replace("coding%3Aread+coding%3Awrite", "everything"));
    expect(told.status).toBe(303);
    expect(told.headers["location"]).toBe(`${scriptedRedirect}?error=invalid_scope`);
    expectMistakePage(await scene.get(path.replace("client_id=app", "client_id=another")), 400);
    expectMistakePage(await scene.get(`${path}&client_id=app`), 400);
  });

  test("a client with a metadata document is shown by its host; one on this computer has a warning", async () => {
    const client = { clientId: "https://maker.example/app.json", name: "Editor", origin: "document" } as const;
    for (const destination of ["127.0.0.1:4711", "[::1]:80", "localhost", "com.example.editor:"]) {
      const scene = await openScene({}, { client, destination });
      const { body } = await scene.get(path);
      expect(body).toContain("maker.example");
      expect(body).toContain("a program on this computer");
    }
    const scene = await openScene({}, { client, destination: "localhost.evil.example" });
    expect((await scene.get(path)).body).not.toContain("a program on this computer");
  });

  test.each([
    ["markup", `"><script>alert(1)</script><img src=x onerror='alert(2)'>`],
    ["a turned direction", "Postern\u202e gnp.exe\u2066 \u200f"],
    ["ten thousand letters", "a".repeat(10_240)],
    ["nothing", "\u200b\u3164 \u202e"],
    ["an alphabet that looks alike", "Pоstеrn"],
  ])("a name of %s is shown harmlessly", async (_what, name) => {
    const scene = await openScene({}, { client: { clientId: "app", name, origin: "registered" } });
    const { body } = await scene.get(path);
    expect(body).not.toMatch(/<script>|<img/);
    expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u200f]/);
    expect(body).not.toContain("a".repeat(61));
    if (name === "Pоstеrn") expect(body).toContain("different alphabets");
    if (name.startsWith("\u200b")) expect(body).toContain("an unnamed app");
  });

  test("an account without any of the requested scopes can only deny", async () => {
    const scene = await openScene({}, { scopes: [] });
    const { body } = await scene.get(path);
    expect(body).toContain("nothing to allow");
    expect(body).toContain('value="deny"');
    expect(body).not.toContain('value="allow"');
  });

  test("the parameters of a request are returned escaped and complete", async () => {
    const scene = await openScene();
    const state = `'"><script>&amp;\u{1f600}`;
    const { body } = await scene.get(`/oauth/authorize?${new URLSearchParams({ ...request, state }).toString()}`);
    expect(body).toContain(`value="&#39;&quot;&gt;&lt;script&gt;&amp;amp;\u{1f600}"`);
  });
});

test("error_uri leads to a public page about the error", async () => {
  const scene = await openScene();
  const { status, body } = await scene.get("/docs/oauth-errors", []);
  expect(status).toBe(200);
  for (const error of ["access_denied", "invalid_request", "invalid_scope"]) expect(body).toContain(`id="${error}"`);
});
