import { randomBytes } from "node:crypto";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { createSecretBox, loadSecretKey } from "./secret-box.ts";

test("sealed data opens only unchanged, with the same key and for the same purpose", () => {
  const box = createSecretBox(randomBytes(32));
  const sealed = box.seal("whsec_äöü", "webhook");
  expect(box.open(sealed, "webhook")).toBe("whsec_äöü");
  expect(sealed).not.toContain("whsec");
  expect(box.seal("whsec_äöü", "webhook")).not.toBe(sealed);
  const changed = sealed.slice(0, -2) + (sealed.endsWith("AA") ? "BB" : "AA");
  for (const open of [
    () => box.open(sealed, "signing"),
    () => box.open(changed, "webhook"),
    () => box.open("whsec_äöü", "webhook"),
    () => box.open("v1.", "webhook"),
    () => createSecretBox(randomBytes(32)).open(sealed, "webhook"),
  ]) {
    expect(open).toThrow(expect.objectContaining({ code: "store_unavailable" }));
  }
});

test("the fingerprint of a short secret reveals nothing without the key, and differs by purpose", () => {
  const key = randomBytes(32);
  const digest = createSecretBox(key).digest("BCDF-GHJK", "user code");
  expect(createSecretBox(key).digest("BCDF-GHJK", "user code")).toBe(digest);
  expect(createSecretBox(key).digest("BCDF-GHJK", "other")).not.toBe(digest);
  expect(createSecretBox(randomBytes(32)).digest("BCDF-GHJK", "user code")).not.toBe(digest);
});

test("the key is created once, also by simultaneous callers, and only its owner can read it", async () => {
  const folder = await makeTempFolder();
  const path = join(folder, "key");
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadSecretKey(path)));
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["key"]);
});

test("an invalid key file is an error and is not replaced", async () => {
  const path = join(await makeTempFolder(), "broken");
  await writeFile(path, "short");
  await expect(loadSecretKey(path)).rejects.toMatchObject({ code: "store_unavailable" });
});
