import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { sharedCompileCache } from "./test/support/compile-cache.ts";
import { chosen } from "./test/support/further-tests.ts";
import { SpreadEvenly } from "./test/support/spread-evenly.ts";
import { withBundles } from "./test/support/with-bundles.ts";

const longTests = "**/*.long.test.ts";

const globalSetup = [
  "test/support/folders-setup.ts",
  "test/support/postgres-setup.ts",
  "test/support/bundles-setup.ts",
];
const execArgv = [...withBundles];

/** All projects share the workers. Tests wait for agents, disks and clocks too: three at a time keep two processors busy. */
const maxWorkers = 3;

/** These measure what their own process uses of memory or of the processor, which must be nobody else's. */
const measuring = [
  "src/transcripts/huge.test.ts",
  "src/platform/minor-gc.test.ts",
  "src/platform/processes.test.ts",
  "web/session/markdown.test.ts",
];

const besideTheSource = { globalSetup, execArgv, testTimeout: 120_000, hookTimeout: 120_000, maxWorkers } as const;

/**
 * Beside the source: seconds, but the first database of a run took 104 beside other work. A process for each file, with all that it imports,
 * would cost more than most tests do.
 */
const unit: TestProjectInlineConfiguration = {
  test: {
    ...besideTheSource,
    name: "unit",
    isolate: false,
    ...chosen(["{src,web,test/model-server,test/support,tools,bench}/**/*.test.ts"], [longTests, ...measuring]),
  },
};

const alone: TestProjectInlineConfiguration = {
  test: { ...besideTheSource, name: "alone", ...chosen(measuring) },
};

const wholeGateway = { globalSetup, execArgv, testTimeout: 90_000, hookTimeout: 60_000, maxWorkers };

/** It measures what the gateway in its own process uses of memory. */
const measuringGateway = ["test/gateway/recording.test.ts"];

/** A whole gateway with the scripted agent, or with none. */
const gateway: TestProjectInlineConfiguration = {
  test: {
    ...wholeGateway,
    name: "gateway",
    isolate: false,
    ...chosen(["test/gateway/**/*.test.ts"], measuringGateway),
  },
};

const gatewayAlone: TestProjectInlineConfiguration = {
  test: { ...wholeGateway, name: "gateway-alone", ...chosen(measuringGateway) },
};

const withAgents = { ...wholeGateway, globalSetup: [...globalSetup, "test/support/agents-setup.ts"] };

/** With the real agents: minutes. Their files share processes too. */
const e2e: TestProjectInlineConfiguration = {
  test: {
    ...withAgents,
    name: "e2e",
    isolate: false,
    ...chosen(["test/e2e/**/*.test.ts"], [longTests]),
  },
};

/** In Chromium. */
const web: TestProjectInlineConfiguration = {
  test: {
    name: "web",
    ...chosen(["test/web/**/*.test.ts"]),
    globalSetup: [...globalSetup, "test/support/web-setup.ts"],
    execArgv,
    // Three browsers, their gateways and agents share two processors: what takes 20 s alone can take minutes.
    testTimeout: 400_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 50 } },
    maxWorkers,
  },
};

export default defineConfig({
  test: {
    // Real processes, signals and files: each worker is a process of its own.
    pool: "forks",
    env: { NODE_COMPILE_CACHE: sharedCompileCache() },
    sequence: { sequencer: SpreadEvenly },
    projects: [unit, alone, gateway, gatewayAlone, e2e, web],
  },
});
