import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";

/** Starts a streamed response, which the route must end. */
export function beginStream(reply: FastifyReply, contentType: string): ServerResponse {
  void reply.hijack();
  const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return reply.raw.writeHead(200, { ...Object.fromEntries(headers), "content-type": contentType });
}

/**
 * Writes text, and waits until the connection accepts more.
 * @param options `stuckMs`: disconnects a client that reads nothing for this long
 * @returns false if the client is disconnected or stuck, or the signal is aborted
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
    raw.destroy(); // drops unread data
    return false;
  } finally {
    cancel();
  }
}

/** An `onSend` hook that adds an entity tag, and responds with 304 if the caller has the current version. */
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
 * Whether `If-None-Match` contains this entity tag.
 * @see RFC 9110 section 13.1.2 (weak comparison)
 */
export function isFresh(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
