import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { lockSchema, missingPackages } from "./complete-lock.ts";

const root = resolve(import.meta.dirname, "..");

test.each(["package-lock.json", "test/agents/package-lock.json"])(
  "%s holds every platform, or `npm ci` refuses it (node tools/complete-lock.ts)",
  (path) => {
    const lock = lockSchema.parse(JSON.parse(readFileSync(join(root, path), "utf8")));
    expect(missingPackages(lock).map((each) => each.path)).toEqual([]);
  },
);

test("a package next to its parent or inside it is not missing", () => {
  const optionalDependencies = {
    "tool-linux": "1.2.3",
    "tool-darwin": "1.2.3",
    "tool-win32": "1.2.3",
    loose: "^1.0.0",
  };
  const lock = lockSchema.parse({
    packages: {
      "node_modules/tool": { version: "1.2.3", dev: true, optionalDependencies },
      "node_modules/tool-linux": { version: "1.2.3" },
      "node_modules/tool/node_modules/tool-darwin": { version: "1.2.3" },
    },
  });
  expect(missingPackages(lock)).toEqual([{ path: "node_modules/tool-win32", version: "1.2.3", dev: true }]);
});
