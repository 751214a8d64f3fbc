import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";

/** Begins an answer that is written piece by piece; from now on its route ends it. */
export function beginStream(reply: FastifyReply, contentType: string): ServerResponse {
  void reply.hijack();
  const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return reply.raw.writeHead(200, { ...Object.fromEntries(headers), "content-type": contentType });
}

/**
 * Writes a piece, and waits until there is room for the next one.
 * @param options `stuckMs`: a reader that takes nothing for so long is cut off
 * @returns false when the reader takes nothing more: it is gone, stuck, or the signal says so
 */
export async function writePiece(
  raw: ServerResponse,
  text: string,
  { signal, clock, stuckMs }: { readonly signal: AbortSignal; readonly clock: Clock; readonly stuckMs: number },
): Promise<boolean> {
  if (raw.destroyed || signal.aborted) return false;
  if (raw.write(text)) return true;
  const stuck = new AbortController();
  const cancel = clock.after(stuckMs, () => stuck.abort());
  try {
    await once(raw, "drain", { signal: AbortSignal.any([signal, stuck.signal]) });
    return true;
  } catch {
    raw.destroy(); // what it has not taken is not kept for it
    return false;
  } finally {
    cancel();
  }
}

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
