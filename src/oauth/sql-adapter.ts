import type { Adapter, AdapterPayload } from "oidc-provider";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { ClientDocuments } from "./client-metadata.ts";
import type { ClientStore } from "./client-store.ts";
import { inSeconds, lifetimes } from "./lifetimes.ts";
import type { OAuthRecord, RecordKind, RecordStore, RecordWrite } from "./record-store.ts";
import { currentWork } from "./request-work.ts";

/** The fields of a payload that have their own columns. */
const columnsSchema = z.looseObject({
  accountId: z.string().optional(),
  clientId: z.string().optional(),
  grantId: z.string().optional(),
  userCode: z.string().optional(),
  /** How many refresh tokens preceded this one. */
  rotations: z.number().optional(),
});

/** Used refresh tokens of a grant to add before the oldest are removed. */
const rotationsBetweenTrims = 20;

export interface SqlAdapterDeps {
  readonly records: RecordStore;
  readonly clients: ClientStore;
  readonly documents: ClientDocuments;
  readonly clock: Clock;
  readonly afterFind?: () => Promise<void>;
}

/**
 * The library's storage adapter; each of its models has one. The library's ids are the tokens themselves; here they are stored as hashes, and
 * payloads contain neither tokens nor user codes.
 */
export function createSqlAdapter(name: string, deps: SqlAdapterDeps): Adapter {
  if (name === "Client") return clientAdapter(deps);
  if (name === "Session") return sessionAdapter;
  const kind = kinds.get(name);
  return kind === undefined ? nothingKept(name) : recordAdapter(kind, deps);
}

const kinds: ReadonlyMap<string, RecordKind> = new Map(
  (["AuthorizationCode", "AccessToken", "RefreshToken", "Grant", "DeviceCode"] as const).map((kind) => [kind, kind]),
);

const none = async (): Promise<undefined> => undefined;
const noLookups = { findByUserCode: none, findByUid: none };

function recordAdapter(kind: RecordKind, { records, clock, afterFind }: SqlAdapterDeps): Adapter {
  /** Adds to the request's other writes; outside of a request, it is written separately. */
  async function write(...writes: readonly RecordWrite[]): Promise<void> {
    const work = currentWork();
    if (work !== undefined) work.writes.push(...writes);
    else await records.write(writes);
  }

  return {
    ...noLookups,

    async upsert(id, payload, expiresIn) {
      const { jti: _jti, exp: _exp, consumed: _consumed, userCode, ...kept } = columnsSchema.parse(payload);
      const grantHash = kind === "Grant" ? sha256(id) : kept.grantId === undefined ? null : sha256(kept.grantId);
      const now = clock.now();
      await write({
        kind: "save",
        row: {
          kind,
          id_hash: sha256(id),
          payload: JSON.stringify(kept),
          account_id: kept.accountId ?? null,
          client_id: kept.clientId ?? null,
          grant_hash: grantHash,
          user_code_hash: userCode === undefined ? null : records.userCodeHash(userCode),
          consumed_at: null,
          last_used_at: null,
          created_at: now,
          expires_at: expiresIn === undefined ? null : now + expiresIn * 1_000,
        },
      });
      if (kind !== "RefreshToken" || grantHash === null) return;
      await write({ kind: "prolong", grantHash, expiresAt: now + lifetimes.grantMs });
      if ((kept.rotations ?? 0) % rotationsBetweenTrims === rotationsBetweenTrims - 1)
        await write({ kind: "trim", grantHash });
    },

    async find(id) {
      const record = await records.find(kind, id);
      if (afterFind !== undefined && kind !== "Grant") await afterFind();
      return record === null ? undefined : toLibrary(record, { id, clock });
    },

    async consume(id) {
      const consumption = { kind: "consume", recordKind: kind, idHash: sha256(id) } as const;
      const work = currentWork();
      if (work === undefined) throw new Error("Something was consumed outside of a request.");
      work.writes.unshift(consumption);
    },

    destroy: (id) => records.remove(kind, sha256(id)),

    async revokeByGrantId(grantId) {
      await records.endGrant(sha256(grantId), kind);
    },
  };
}

/** The library reads the system clock, but stored times use ours. Converts them so that records expire by our clock. */
function toLibrary(
  { payload, expires_at, consumed_at, account_id, client_id }: OAuthRecord,
  { id, clock }: { readonly id: string; readonly clock: Clock },
): AdapterPayload {
  const aheadMs = Date.now() - clock.now();
  const work = currentWork();
  if (work !== undefined && typeof payload["grantId"] === "string") {
    work.owner = { appId: payload["grantId"], accountId: account_id, clientId: client_id };
  }
  return {
    ...payload,
    jti: id,
    ...(expires_at === null ? {} : { exp: inSeconds(expires_at + aheadMs) }),
    ...(consumed_at === null ? {} : { consumed: inSeconds(consumed_at + aheadMs) }),
  };
}

function clientAdapter({ clients, documents }: SqlAdapterDeps): Adapter {
  return {
    ...noLookups,
    async find(id) {
      const stored = await clients.metadata(id);
      if (stored !== null && stored.origin !== "document") return stored.metadata;
      const work = currentWork();
      const asker = work === undefined || work.decision !== null ? "account" : "client";
      return (await documents.find(id, { asker, approved: stored?.metadata ?? null })) ?? undefined;
    },
    upsert: (id, metadata) => clients.save(id, { ...metadata }, "registered"),
    async destroy(id) {
      await clients.remove(id);
    },
    consume: none,
    revokeByGrantId: none,
  };
}

/** We handle the owner's sign-in. The library sees a session only while it replays a decision. */
const sessionAdapter: Adapter = {
  ...noLookups,
  async find(id) {
    const decision = currentWork()?.decision ?? null;
    if (decision === null) return undefined;
    return {
      jti: id,
      uid: id,
      kind: "Session",
      accountId: decision.accountId,
      loginTs: inSeconds(Date.now()),
      exp: inSeconds(Date.now()) + 60,
    };
  },
  upsert: none,
  destroy: none,
  consume: none,
  revokeByGrantId: none,
};

function nothingKept(name: string): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error(`The authorization server does not store ${name}.`);
  };
  return { ...noLookups, find: none, upsert: refuse, consume: refuse, destroy: none, revokeByGrantId: none };
}
