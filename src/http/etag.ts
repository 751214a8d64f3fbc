import type { FastifyReply, FastifyRequest } from "fastify";
import { sha256 } from "../core/ids.ts";

/** An `onSend` hook: gives the answer an entity tag, and answers 304 without a body when the caller has it already. */
export async function tagOrNotModified(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== "string" || reply.statusCode !== 200) return payload;
  const etag = `"${sha256(payload).slice(0, 32)}"`;
  void reply.headers({ etag, "cache-control": "no-cache", vary: "authorization" });
  if (!isFresh(request.headers["if-none-match"], etag)) return payload;
  void reply.code(304).removeHeader("content-type").removeHeader("content-length");
  return "";
}

/**
 * Whether `If-None-Match` names this entity tag.
 *
 * @see RFC 9110 section 13.1.2 (weak comparison)
 */
export function isFresh(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
