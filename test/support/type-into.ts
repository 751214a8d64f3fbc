import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import type { World } from "./gateway.ts";

/** A session's terminal, as a person at it has it. */
export interface TestTerminal {
  press(keys: string): Promise<void>;
  /** The visible screen. */
  screen(): Promise<string>;
}

/** Does something at the terminal of the process `pid`, past the gateway. */
export async function atTerminal<T>(
  world: World,
  pid: number | null,
  task: (terminal: TestTerminal) => Promise<T>,
): Promise<T> {
  const host = await connectTerminalHost({
    socketPath: join(world.home, "run", "host.sock"),
    stateDir: join(world.home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
  try {
    const { terminalId = "" } = (await host.list()).find((info) => info.pid === pid) ?? {};
    return await task({
      press: (keys) => host.write(terminalId, keys),
      screen: async () => (await host.snapshot(terminalId)).lines.join("\n"),
    });
  } finally {
    await host.close();
  }
}
