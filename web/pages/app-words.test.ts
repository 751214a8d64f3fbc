import { expect, test } from "vitest";
import { documentHost, letInTo } from "./app-words.ts";

test.each([
  [null, "On a device, by its code"],
  ["localhost:33418", "A program of the browser’s machine (localhost:33418)"],
  ["[::1]:80", "A program of the browser’s machine ([::1]:80)"],
  ["com.example.app:", "A program of your device (com.example.app:)"],
  ["localhost.evil.example", "At localhost.evil.example"],
  ["chat.example", "At chat.example"],
])("an app with the host %s: %s", (host, words) => {
  expect(letInTo(host)).toBe(words);
});

test("the address of a client's metadata says whose it is", () => {
  expect(documentHost("https://chat.example/client.json")).toBe("chat.example");
  expect(documentHost("k3J9x")).toBeNull();
  expect(documentHost("https://")).toBeNull();
});
