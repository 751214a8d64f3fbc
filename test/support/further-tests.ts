import { matchesGlob } from "node:path";

/**
 * Tests that only `npm run test:full` runs: packages, upgrades, the container, documented commands, further agents, most pages, and what
 * ends processes at random. `npm test` runs all others.
 */
export const furtherTests: readonly string[] = [
  // Packages, upgrades, the container, what the documentation says to type.
  "test/gateway/package.test.ts",
  "test/gateway/package-contents.test.ts",
  "test/gateway/client-package.test.ts",
  "test/gateway/package-upgrade.test.ts",
  "test/gateway/older-node.test.ts",
  "test/gateway/uninstall.test.ts",
  "test/gateway/doctor.test.ts",
  "test/e2e/container.test.ts",
  "test/e2e/service-on-systemd.test.ts",
  "test/e2e/documented-commands.test.ts",
  "test/gateway/oauth-docs.test.ts",
  "src/storage/upgrade.test.ts",
  // Further agents, and what is known of all agents but rarely changes.
  "test/e2e/attachments.test.ts",
  "test/e2e/opencode.test.ts",
  "test/e2e/further-agents.test.ts",
  "test/e2e/agent-versions.test.ts",
  "test/e2e/model-server.test.ts",
  "test/e2e/custom-agent.test.ts",
  "test/e2e/activity.test.ts",
  "test/e2e/activity-in-terminal.test.ts",
  "test/e2e/activity-restart.test.ts",
  "test/e2e/idle-agents.test.ts",
  "test/e2e/memory.test.ts",
  "test/e2e/attention-trial.test.ts",
  "test/e2e/codex-sandbox.test.ts",
  "test/e2e/key-variable.test.ts",
  "test/e2e/private-prompts.test.ts",
  "src/app/private-prompts.test.ts",
  // Clients and conformance.
  "test/e2e/clients.test.ts",
  "test/e2e/mcp.test.ts",
  "test/e2e/doctor.test.ts",
  "test/gateway/mcp-conformance.test.ts",
  "test/gateway/oauth-conformance.test.ts",
  // Several agents at once.
  "test/gateway/comparisons.test.ts",
  "test/gateway/idle-agents.test.ts",
  // Kills at every step, and a store that is away.
  "test/gateway/oauth-killed.test.ts",
  "src/app/store-outage.test.ts",
  "src/backup/killed-restore.test.ts",
  "src/storage/postgres.test.ts",
  "src/worktrees/crash.test.ts",
  "src/worktrees/kill.test.ts",
  "src/worktrees/rescue.property.test.ts",
  // All pages but the main flows.
  "test/web/access.test.ts",
  "test/web/attachments.test.ts",
  "test/web/finish.test.ts",
  "test/web/idle-agents.test.ts",
  "test/web/attention.test.ts",
  "test/web/compare.test.ts",
  "test/web/completion.test.ts",
  "test/web/consent.test.ts",
  "test/web/conversation.test.ts",
  "test/web/cross-site.test.ts",
  "test/web/event-loss.test.ts",
  "test/web/memory.test.ts",
  "test/web/oauth-flow.test.ts",
  "test/web/offline.test.ts",
  "test/web/notifications.test.ts",
  "test/web/pages.test.ts",
  "test/web/permission-rules.test.ts",
  "test/web/queue.test.ts",
  "test/web/reconnect.test.ts",
  "test/web/review.test.ts",
  "test/web/session-list.test.ts",
  "test/web/session-tools.test.ts",
  "test/web/session-notes.test.ts",
  "test/web/session-truth.test.ts",
  "test/web/setup.test.ts",
  "test/web/split-view.test.ts",
  "test/web/unsent-text.test.ts",
  "test/web/watch.test.ts",
];

/** Tests that need npm's registry, which only `npm run test:full` runs, outside of the others' network namespace. */
export const networkTests: readonly string[] = ["test/e2e/readme-journey.test.ts"];

/** `main` leaves out these and the further tests, `further` runs these alone; all of them without it. See `tools/test.ts`. */
const testSet = process.env["POSTERN_TEST_SET"];

/** The files of a project that belong to the set that is run. */
export function chosen(include: readonly string[], exclude: readonly string[] = []) {
  const without = [...exclude, ...(testSet === "main" ? [...furtherTests, ...networkTests] : [])];
  const further = furtherTests.filter(
    (file) =>
      include.some((pattern) => matchesGlob(file, pattern)) && !exclude.some((pattern) => matchesGlob(file, pattern)),
  );
  return { include: testSet === "further" ? further : [...include], exclude: without };
}
