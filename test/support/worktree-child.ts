import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { createWorktrees } from "../../src/worktrees/worktrees.ts";

/** For tests that kill it: creates or closes a worktree in a separate process. */
const [task = "", storePath = "", home = "", sessionId = "", dir = "", branch = ""] = process.argv.slice(2);
const { db } = await openDatabase({ url: null, path: storePath, log: silentLog });
const pathVariable = process.env["PATH"] ?? "";
const worktrees = createWorktrees({
  db,
  clock: systemClock,
  log: silentLog,
  nodeId: "local",
  home,
  pathVariable,
  worktreeNameFor: async () => "{branch}",
});
process.stdout.write("begun\n");
if (task === "make") await worktrees.make({ sessionId, dir, baseBranch: "main", branch }, async () => true);
else await worktrees.close(sessionId, { discard: false });
process.stdout.write("done\n");
process.exit(0);
