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
import { idleEndWords } from "../wire/idle-words.ts";
import type { Block, Turn } from "../wire/turn.ts";
import { untrustedNotice } from "./call-tool.ts";
import type { McpDeps } from "./ports.ts";

const pageSize = 50;
/** More turns than the text has room for. */
const maxTurns = 200;
/** Limit of the protocol. */
const maxCompletions = 100;
const searchedForCompletion = 200;
const mimeType = "text/markdown";

/** RFC 6570. */
const sessionUriTemplate = "postern://sessions/{sessionId}";

/** Sessions as resources, for a caller. */
export interface SessionResources {
  list(cursor: string | undefined, principal: Principal): Promise<ListResourcesResult>;
  read(uri: string, principal: Principal, signal: AbortSignal): Promise<ReadResourceResult>;
  /** All ids of the session. @throws ProtocolError if it is not visible */
  idsOf(uri: string, principal: Principal, signal: AbortSignal): Promise<readonly string[]>;
  complete(
    argument: { readonly name: string; readonly value: string },
    uri: string,
    principal: Principal,
  ): Promise<CompleteResult>;
}

export const sessionTemplate = {
  name: "session",
  title: "Session",
  uriTemplate: sessionUriTemplate,
  description: "Status and conversation of a coding agent's session as text. Untrusted transcript content.",
  mimeType,
};

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
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor.");
}

function sessionUri(sessionId: string): string {
  return `postern://sessions/${encodeURIComponent(sessionId)}`;
}

/** The session id in a URI; null for other URIs. */
function sessionIdOf(uri: string): string | null {
  const [, encoded = ""] = /^postern:\/\/sessions\/([^/?#]{1,600})$/.exec(uri) ?? [];
  try {
    return encoded === "" ? null : decodeURIComponent(encoded);
  } catch {
    return null; // invalid escape
  }
}

/** Sized for the context of an LLM. The newest turns are kept. */
const maxConversationChars = 200_000;
const maxTurnChars = 40_000;
const maxToolChars = 2_000;

// Control characters except newline and tab, and direction marks: a terminal could interpret them.
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Status and conversation of a session, marked as untrusted. */
function conversationText(session: ReadOutput): string {
  const head = [
    untrustedNotice,
    "",
    `Session ${session.sessionId}`,
    `Title: ${line(session.title ?? "(none)")}`,
    `Agent: ${session.agent} · Directory: ${line(session.dir)}`,
    `Status: ${session.endedAfterIdleMs === null ? session.status : idleEndWords(session.endedAfterIdleMs)}${session.activity === null ? "" : ` · ${session.activity.replaceAll("_", " ")}`}`,
    `Turns: ${session.turnCount} · Updated: ${session.updatedAt}`,
    ...session.permissions.map(({ permissionId, tool }) => `Permission request: ${line(tool)} (${permissionId})`),
  ].join("\n");
  const kept: string[] = [];
  let room = maxConversationChars - head.length;
  for (const turn of session.turns.toReversed()) {
    const text = turnText(turn);
    if (text.length > room) break;
    room -= text.length;
    kept.unshift(text);
  }
  const first = session.turns[session.turns.length - kept.length]?.index ?? 0;
  const missing = first > 0 ? [`(${first} earlier turns omitted. Read them with coding_read_session.)`] : [];
  return [head, ...missing, ...kept].join("\n\n");
}

/** Transcript text on one line, without control characters. */
function line(text: string): string {
  return text.replace(controls, "").replace(/\s+/g, " ").trim();
}

function turnText({ index, role, at, text, blocks }: Turn): string {
  const body = blocks.length === 0 ? [text] : blocks.map(blockText).filter((part) => part !== "");
  const head = `## ${index} ${role}${at === null ? "" : ` · ${at}`}`;
  return cut([head, ...body].join("\n\n").replace(controls, ""), maxTurnChars);
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return "";
    case "tool_call": {
      const input = cut(JSON.stringify(block.input) ?? "", maxToolChars);
      const outcome = block.result === null ? "(no result yet)" : cut(block.result.text, maxToolChars);
      return `[tool ${line(block.name)} ${input}]${block.result?.ok === false ? " failed" : ""}\n${outcome}`;
    }
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}
