// A gateway in miniature: connects to a terminal host (arguments: socket, state folder), starts one program, prints the pids of both, stays.
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";

const [socketPath = "", stateDir = ""] = process.argv.slice(2);
const client = await connectTerminalHost({
  socketPath,
  stateDir,
  log: silentLog,
  clock: systemClock,
  idleExitMs: 3_000,
});
const program = { argv: ["/bin/cat"], cwd: "/", env: { TERM: "xterm" }, cols: 80, rows: 24 } as const;
const { pid } = await client.spawn({ terminalId: "one", leaseKey: "one", ...program });
process.stdout.write(`${client.host()?.pid} ${pid}\n`);
