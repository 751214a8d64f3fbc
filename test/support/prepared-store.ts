import { loadConfig } from "../../src/app/config.ts";
import { openStores } from "../../src/app/stores.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { scopes } from "../../src/wire/access.ts";
import type { World } from "./gateway.ts";

/** A token with every scope, and these agents configured: in the store that every gateway of this world opens. */
export async function prepareStore(
  world: World,
  agents: readonly string[] = world.furtherAgents.length === 0 ? ["claude-code", "codex"] : ["scripted"],
): Promise<string> {
  const stores = await openStores(loadConfig(world.env), {
    log: silentLog,
    clock: systemClock,
    furtherAgents: world.furtherAgents,
  });
  const { accountId } = await stores.accounts.owner();
  const wanted = { name: "test", scopes, folders: null, expiresAt: null };
  const { token } = await stores.accounts.tokens.create(accountId, wanted);
  for (const agent of agents) await stores.agents.configure(agent);
  await stores.close();
  return token;
}
