import { defineConfig } from "vitest/config";

/** Soaks and storms: `npm run test:long`. One at a time, since they measure what the machine bears. */
export default defineConfig({
  test: {
    name: "long",
    // Some tests of `npm test` are also run at their long sizes.
    include: ["{src,test,bench}/**/*.long.test.ts", "src/publish/{hunks,histories}.test.ts"],
    env: { POSTERN_HUNK_RUNS: "1000", POSTERN_HISTORY_RUNS: "500" },
    globalSetup: [
      "test/support/folders-setup.ts",
      "test/support/postgres-setup.ts",
      "test/support/agents-setup.ts",
      "test/support/web-setup.ts",
    ],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 60 * 60_000,
    hookTimeout: 60_000,
  },
});
