import type { Accounts } from "../accounts/index.ts";
import type { AgentRegistry } from "../agents/index.ts";
import { mask, maskSecrets, namesSecret } from "../logs/index.ts";
import type { OAuth } from "../oauth/index.ts";
import type { Masking, ReadTurns, StillReads } from "../sharing/index.ts";
import type { Coding } from "./coding.ts";

/** What sharing needs from the other capabilities. */
export function sharingPorts(deps: {
  readonly accounts: Pick<Accounts, "directory" | "tokens">;
  readonly oauth: Pick<OAuth, "apps">;
  readonly agents: Pick<AgentRegistry, "templates">;
  readonly coding: Pick<Coding, "read" | "namesOf">;
}): {
  readonly read: ReadTurns;
  readonly masking: Masking;
  readonly stillReads: StillReads;
  readonly namesOf: Coding["namesOf"];
} {
  const { accounts, oauth, agents, coding } = deps;
  return {
    masking: { mask, maskSecrets, namesSecret },
    namesOf: (sessionId) => coding.namesOf(sessionId),
    async read(sessionId, { after, limit, images }, { caller, signal }) {
      const part = { sessionId, after, before: after + 1 + limit, limit, images };
      const { agent, ...session } = await coding.read(part, caller, signal);
      const template = agents.templates.find(({ name }) => name === agent);
      return { ...session, agent: template?.displayName ?? agent };
    },
    async stillReads({ accountId, tokenId, appId }) {
      const account = await accounts.directory.find(accountId);
      if (account?.scopes.includes("coding:read") !== true) return false;
      if (appId !== null) return oauth.apps.isConnected(accountId, appId);
      if (tokenId === null) return true;
      return (await accounts.tokens.findAgain(tokenId))?.scopes.has("coding:read") === true;
    },
  };
}
