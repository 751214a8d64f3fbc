import type { Accounts } from "../accounts/index.ts";
import type { AgentRegistry } from "../agents/index.ts";
import { hasCode } from "../core/errors.ts";
import { mask, maskSecrets, namesSecret } from "../logs/index.ts";
import type { OAuth } from "../oauth/index.ts";
import type { ForkPorts, Masking, ReadTurns, StillReads } from "../sharing/index.ts";
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
      return { ...session, agent: template?.displayName ?? agent, agentName: agent };
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

const withoutDiff = ["dir_not_allowed", "dir_not_found", "not_a_git_repository", "branch_not_found"] as const;

/** What a fork needs from sessions. */
export function forkPorts(
  coding: Pick<Coding, "ask" | "attachments" | "branches" | "changes" | "sessionPlaceOf">,
): ForkPorts {
  return {
    ask: (input, caller, signal) => coding.ask(input, caller, signal),
    async attach({ name, text }, caller) {
      const file = { name, mediaType: "text/plain", sessionId: null };
      return (await coding.attachments.add(file, bytesOf(text), caller)).attachmentId;
    },
    async detach(attachmentId, caller) {
      const { sessionId } = await coding.attachments.find(attachmentId, caller);
      if (sessionId === null) await coding.attachments.remove(attachmentId, caller);
    },
    branchOf: async (dir, caller) => (await coding.branches(dir, caller)).current,
    repositoryDirOf: async (dir) => (await coding.sessionPlaceOf(dir)).dir,
    async patchOf(sessionId, caller, maxCharacters) {
      try {
        const { files, truncated } = await coding.changes.diff(sessionId, caller);
        return patchFrom(
          files.map(({ patch }) => patch),
          { maxCharacters, truncated },
        );
      } catch (error) {
        // A caller without the folder's files gets the conversation only.
        if (withoutDiff.some((code) => hasCode(error, code))) return null;
        throw error;
      }
    },
  };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text, "utf8");
}

function patchFrom(
  patches: readonly (string | null)[],
  { maxCharacters, truncated }: { readonly maxCharacters: number; readonly truncated: boolean },
): Awaited<ReturnType<ForkPorts["patchOf"]>> {
  let text = "";
  let complete = !truncated;
  for (const patch of patches) {
    if (patch === null || text.length + patch.length > maxCharacters) complete = false;
    else text += patch.endsWith("\n") ? patch : `${patch}\n`;
  }
  return text === "" ? null : { text, complete };
}
