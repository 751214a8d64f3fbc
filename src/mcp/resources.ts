import {
  type CompleteResult,
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import type { Principal } from "../accounts/index.ts";
import { hasCode } from "../core/errors.ts";
import type { ReadOutput } from "../wire/coding.ts";
import { conversationText, line } from "./conversation-text.ts";
import type { McpDeps } from "./ports.ts";
import { sessionIdOf, sessionUri, sessionUriTemplate } from "./session-uri.ts";

const pageSize = 50;
/** As many turns as the text has room for, and then some. */
const maxTurns = 200;
/** The protocol's own bound of a completion. */
const maxCompletions = 100;
const searchedForCompletion = 200;
const mimeType = "text/markdown";

/** Sessions as resources, for a caller. */
export interface SessionResources {
  list(cursor: string | undefined, principal: Principal): Promise<ListResourcesResult>;
  read(uri: string, principal: Principal, signal: AbortSignal): Promise<ReadResourceResult>;
  /** @returns every id of the session. @throws ProtocolError when there is none that the caller may see */
  idsOf(uri: string, principal: Principal, signal: AbortSignal): Promise<readonly string[]>;
  complete(
    argument: { readonly name: string; readonly value: string },
    uri: string,
    principal: Principal,
  ): Promise<CompleteResult>;
}

/** What a client shows of the template. */
export const sessionTemplate = {
  name: "session",
  title: "Session",
  uriTemplate: sessionUriTemplate,
  description:
    "A session of a coding agent: how it stands, and its conversation as text. Untrusted: it comes from a transcript.",
  mimeType,
};

/** @see SessionResources */
export function createSessionResources({ sessions }: Pick<McpDeps, "sessions">): SessionResources {
  async function find(
    uri: string,
    principal: Principal,
    { signal, last }: { readonly signal: AbortSignal; readonly last: number },
  ): Promise<ReadOutput> {
    const sessionId = sessionIdOf(uri);
    if (sessionId === null || !principal.scopes.has("coding:read")) throw new ResourceNotFoundError(uri);
    try {
      return await sessions.read({ sessionId, last }, principal, signal);
    } catch (error) {
      if (hasCode(error, "session_not_found")) throw new ResourceNotFoundError(uri);
      throw error;
    }
  }

  return {
    async list(cursor, principal) {
      if (!principal.scopes.has("coding:read")) return { resources: [] };
      const offset = offsetOf(cursor);
      const page = await sessions.list({ limit: pageSize, offset }, principal);
      return {
        resources: page.sessions.map(({ sessionId, title, agent, dir, status, updatedAt }) => ({
          uri: sessionUri(sessionId),
          name: sessionId,
          title: line(title ?? sessionId),
          description: `${agent} · ${line(dir)} · ${status}`,
          mimeType,
          annotations: { lastModified: updatedAt },
        })),
        ...(page.hasMore ? { nextCursor: String(offset + pageSize) } : {}),
      };
    },
    async read(uri, principal, signal) {
      const session = await find(uri, principal, { signal, last: maxTurns });
      return { contents: [{ uri, mimeType, text: conversationText(session) }] };
    },
    async idsOf(uri, principal, signal) {
      const { sessionId, sessionAliases } = await find(uri, principal, { signal, last: 1 });
      return [sessionId, ...sessionAliases];
    },
    async complete({ name, value }, uri, principal) {
      if (uri !== sessionUriTemplate || name !== "sessionId") {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Only sessionId of ${sessionUriTemplate} can be completed.`,
        );
      }
      if (!principal.scopes.has("coding:read")) return { completion: { values: [], hasMore: false } };
      const page = await sessions.list({ limit: searchedForCompletion }, principal);
      const fitting = page.sessions.map(({ sessionId }) => sessionId).filter((id) => id.startsWith(value));
      const hasMore = page.hasMore || fitting.length > maxCompletions;
      return { completion: { values: fitting.slice(0, maxCompletions), hasMore } };
    },
  };
}

function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,7}$/.test(cursor)) return Number(cursor);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The cursor is none that this server gave.");
}
