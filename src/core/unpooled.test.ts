import { expect, test } from "vitest";
import { unpooled } from "./unpooled.ts";

function ownMemory(): boolean {
  const buffer = Buffer.from("A".repeat(4_000), "base64");
  return buffer.byteOffset === 0 && buffer.buffer.byteLength === buffer.byteLength;
}

test("small buffers have their own memory during a load and use the pool again afterwards", async () => {
  expect(await unpooled(async () => ownMemory())).toBe(true);
  expect(ownMemory()).toBe(false);
  await expect(unpooled(() => Promise.reject(new Error("cannot be loaded")))).rejects.toThrow("cannot be loaded");
  expect(ownMemory()).toBe(false);
});
