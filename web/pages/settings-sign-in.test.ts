import { expect, test } from "vitest";
import { isLoopback } from "./settings-sign-in.tsx";

test.each([
  ["http://localhost:7177/sign-in#x", true],
  ["http://[::1]:7177", true],
  ["http://127.0.0.1", true],
  ["https://localhost.example.org/", false],
  ["https://agents.example.org", false],
])("%s: %s", (address, loopback) => {
  expect(isLoopback(address)).toBe(loopback);
});
