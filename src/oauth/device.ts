import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { ClientStore } from "./client-store.ts";
import { askScopes } from "./decision.ts";
import type { Approval } from "./grants.ts";
import type { AuthorizationRequest, OAuth } from "./oauth.ts";
import { newGrant, type OAuthRecord, type RecordStore, type RecordWrite } from "./record-store.ts";
import {
  type AppScope,
  type GatewayPlace,
  heldOf,
  nameResources,
  readScopes,
  resourceNames,
  resourceOfName,
} from "./resources.ts";

/** The device's request, as stored by the library. */
const askedSchema = z.object({
  params: z.object({
    scope: z.string().optional(),
    resource: z.union([z.string(), z.array(z.string())]).optional(),
  }),
});

type Document = Approval["document"];

/** The library shows codes in upper case with a dash; people type them with spaces and in lower case. */
const longestCode = 100;

/**
 * The owner's side of the device grant: on our own page, without the library's sessions.
 * @see RFC 8628 section 3.3
 */
export function createDevice(deps: {
  readonly records: RecordStore;
  readonly clients: ClientStore;
  readonly clock: Clock;
  readonly place: () => GatewayPlace;
  /** Only for a client identified by its document. */
  readonly documentOf: (clientId: string) => Promise<Document | null>;
}): Pick<OAuth, "describeDevice" | "decideDevice"> {
  const { records, clients, clock } = deps;

  async function waiting(userCode: string): Promise<{ readonly code: string; readonly record: OAuthRecord }> {
    const code = userCode
      .slice(0, longestCode)
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]/g, "");
    const record = await records.findByUserCode(code);
    if (record !== null && record.client_id !== null) return { code, record };
    throw new PosternError("invalid_request", "Unknown or expired code. Check the device: it may show a new one.");
  }

  function askedOf({ payload }: OAuthRecord): readonly AppScope[] {
    return readScopes(askedSchema.parse(payload).params.scope) ?? [];
  }

  async function clientOf(
    record: OAuthRecord,
  ): Promise<{ readonly client: AuthorizationRequest["client"]; readonly document: Document }> {
    const clientId = record.client_id ?? "";
    const known = await clients.find(clientId);
    if (known !== null && known.origin !== "document") return { client: known, document: null };
    const document = await deps.documentOf(clientId);
    if (document === null) throw new PosternError("invalid_request", "This client no longer exists.");
    return { client: { clientId, name: document.name, origin: "document" }, document };
  }

  async function write(...writes: readonly RecordWrite[]): Promise<void> {
    if (await records.write(writes)) return;
    throw new PosternError("invalid_request", "This code was already approved or denied.");
  }

  return {
    async describeDevice(userCode, { scopes: held }) {
      const { record } = await waiting(userCode);
      const { clientId, name, origin } = (await clientOf(record)).client;
      const scopes = askScopes(heldOf(askedOf(record), held), origin);
      return { client: { clientId, name, origin }, destination: null, scopes };
    },

    async decideDevice({ userCode: typed, action, scopes: chosen }, { accountId, scopes: held, from }) {
      const { code: userCode, record } = await waiting(typed);
      const { client, document } = await clientOf(record);
      const { clientId, name } = client;
      if (action === "deny") {
        const payload = { ...record.payload, error: "access_denied", errorDescription: "The user denied the request." };
        const note = { action: "app_denied", accountId, subject: clientId, details: { name }, from } as const;
        await write(
          {
            kind: "decide",
            userCodeHash: records.userCodeHash(userCode),
            changes: { payload: JSON.stringify(payload) },
          },
          { kind: "note", note },
        );
        return;
      }
      const asked = askedOf(record);
      const given = asked.filter((scope) => chosen.includes(scope));
      if (given.length === 0 || given.length !== new Set(chosen).size) {
        throw new PosternError(
          "invalid_request",
          "Choose at least one scope, and only scopes that the device requested.",
        );
      }
      const lacked = given.find((scope) => !held.has(scope));
      if (lacked !== undefined) {
        throw new PosternError(
          "insufficient_scope",
          `You cannot grant the scope ${lacked}, because you do not hold it.`,
          {
            details: { scope: lacked },
          },
        );
      }
      const indicators = [askedSchema.parse(record.payload).params.resource ?? []].flat();
      const resource = resourceOfName(nameResources(indicators, deps.place()) ?? resourceNames.all) ?? "all";
      const {
        appId,
        grant,
        write: saved,
      } = newGrant({ accountId, clientId, resource, scopes: given, host: null }, clock);
      const allowed = { accountId, grantId: appId, scope: given.join(" "), resource: resourceNames[resource] };
      const payload = JSON.stringify({ ...record.payload, ...allowed });
      const details = { name, host: null, scopes: given };
      await write(
        {
          kind: "decide",
          userCodeHash: records.userCodeHash(userCode),
          changes: { payload, account_id: accountId, grant_hash: grant.hash },
        },
        saved,
        {
          kind: "approval",
          clientId,
          document,
          grant,
          note: { action: "app_allowed", accountId, subject: appId, details, from },
        },
      );
    },
  };
}
