import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { authMethods } from "./client-rules.ts";
import type { ClientMetadata } from "./client-store.ts";
import type { FetchDocument } from "./ports.ts";
import { payloadSchema } from "./record-store.ts";

/**
 * Clients whose id is the address of their metadata.
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/
 */
export interface ClientDocuments {
  /** @returns null when the id is no such address, nothing good is there, or it cannot be asked for now */
  find(clientId: string, asked: AskedDocument): Promise<ClientMetadata | null>;
}

/** Who asks for a document, and what is known of it. */
export interface AskedDocument {
  /** An account that decides, or a client at one of the protocol's routes: that may be anybody. */
  readonly asker: "account" | "client";
  /** What it said when an account let it in; null when none did. Where nothing is decided, that is what counts. */
  readonly approved: ClientMetadata | null;
}

interface Kept {
  /** Null when there was nothing good. */
  readonly metadata: ClientMetadata | null;
  readonly until: number;
}

interface Fetching {
  readonly slot: string;
  readonly answer: Promise<ClientMetadata | null>;
}

/** Documents in memory at once; the one fetched longest ago goes first. */
const maxDocuments = 200;
/** Fetches at once of documents that nobody let in, for each kind of asker: what strangers name keeps no account waiting. */
const maxFetches = 8;
const minuteMs = 60_000;
/** Ours, around what the document's own `Cache-Control` says. */
const shortestMs = 5 * minuteMs;
const longestMs = 24 * 60 * minuteMs;
/** So long a document that could not be had is not asked for again. */
const retryMs = 10_000;
const maxIdLength = 500;

export function createClientDocuments(deps: {
  readonly enabled: boolean;
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  readonly log: Log;
}): ClientDocuments {
  const { enabled, clock, log } = deps;
  const kept = new Map<string, Kept>();
  const fetching = new Map<string, Fetching>();

  function keep(clientId: string, document: Kept): void {
    kept.delete(clientId);
    kept.set(clientId, document);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxDocuments) break;
      kept.delete(oldest);
    }
  }

  async function fetchNow(clientId: string): Promise<ClientMetadata | null> {
    try {
      const answer = await deps.fetch(clientId, { method: "GET", headers: { accept: "application/json" } });
      if (answer.status !== 200) throw new Error(`It was answered with ${answer.status}.`);
      const metadata = readDocument(clientId, answer.body);
      keep(clientId, { metadata, until: clock.now() + lifeOf(answer.headers.get("cache-control") ?? "") });
      return metadata;
    } catch (error) {
      log.info({ reason: messageOf(error) }, "a client's metadata document cannot be used");
      // What it said before still holds while its host is away for a moment.
      const before = kept.get(clientId)?.metadata ?? null;
      keep(clientId, { metadata: before, until: clock.now() + retryMs });
      return before;
    }
  }

  /** One slot for each host; none is taken by what was let in, and nothing keeps that waiting. */
  function slotFor(clientId: string, { asker, approved }: AskedDocument): string | null {
    if (approved !== null) return `approved ${clientId}`;
    const slot = `${asker} ${new URL(clientId).host}`;
    const taken = [...fetching.values()].map((each) => each.slot).filter((each) => each.startsWith(`${asker} `));
    return taken.length >= maxFetches || taken.includes(slot) ? null : slot;
  }

  return {
    async find(clientId, asked) {
      if (!enabled || !isDocumentAddress(clientId)) return null;
      if (asked.asker === "client" && asked.approved !== null) return asked.approved;
      const known = kept.get(clientId);
      if (known !== undefined && known.until > clock.now()) return known.metadata;
      const underWay = fetching.get(clientId);
      if (underWay !== undefined) return underWay.answer;
      const slot = slotFor(clientId, asked);
      if (slot === null) return known?.metadata ?? null;
      const answer = fetchNow(clientId).finally(() => fetching.delete(clientId));
      fetching.set(clientId, { slot, answer });
      return answer;
    },
  };
}

/** https with a path, as the draft has it; what the configuration lets be reached without TLS, the fetch decides. */
function isDocumentAddress(clientId: string): boolean {
  const url = clientId.length <= maxIdLength && /^https?:\/\//.test(clientId) ? URL.parse(clientId) : null;
  if (url === null || url.pathname === "/" || url.hash !== "" || clientId.includes("#")) return false;
  // Its own spelling: no credentials, no dot segments, nothing that is read in two ways.
  return url.username === "" && url.password === "" && url.href === clientId;
}

/** @throws Error that says what is wrong with it */
function readDocument(clientId: string, body: string): ClientMetadata {
  const document = payloadSchema.parse(JSON.parse(body));
  if (document["client_id"] !== clientId) throw new Error("Its client_id is not its address.");
  const { token_endpoint_auth_method: method = "none" } = document;
  // A secret that everybody can read is none.
  if (method !== "none") throw new Error(`Of ${authMethods.join(", ")} it can only have the first.`);
  if ("client_secret" in document) throw new Error("It holds a secret.");
  return { ...document, token_endpoint_auth_method: "none" };
}

function lifeOf(cacheControl: string): number {
  const seconds = /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(cacheControl)?.[1];
  return Math.min(longestMs, Math.max(shortestMs, Number(seconds ?? 0) * 1_000));
}
