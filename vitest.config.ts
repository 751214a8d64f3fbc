import { defineConfig } from "vitest/config";

/** `--project unit`: beside the source, seconds. `--project e2e`: real agents, minutes. */
export default defineConfig({
  test: {
    // Real processes and files: a worker is a process of its own, and two cores are what the machine has.
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "test/model-server/**/*.test.ts",
            "test/support/**/*.test.ts",
            "tools/**/*.test.ts",
            "bench/**/*.test.ts",
          ],
          exclude: ["**/*.long.test.ts"],
          globalSetup: ["test/support/postgres-setup.ts"],
          testTimeout: 20_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: ["**/*.long.test.ts"],
          globalSetup: ["test/support/postgres-setup.ts"],
          testTimeout: 90_000,
          hookTimeout: 60_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
