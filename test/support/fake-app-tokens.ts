import type { AppToken, AppTokens } from "../../src/accounts/index.ts";
import type { Clock } from "../../src/core/clock.ts";
import { newSecret, newUuid } from "../../src/core/ids.ts";
import type { Scope } from "../../src/wire/access.ts";

/** Access tokens as an authorization server would know them, in memory. */
export interface FakeAppTokens extends AppTokens {
  issue(token: {
    readonly accountId: string;
    readonly scopes: readonly Scope[];
    readonly resource?: "all" | "mcp";
    readonly lifeMs?: number;
  }): { readonly token: string; readonly issued: AppToken };
  /** As when the token is revoked, or its app disconnected. */
  revoke(tokenId: string): void;
}

/** @see FakeAppTokens */
export function createFakeAppTokens(clock: Clock): FakeAppTokens {
  const tokens = new Map<string, AppToken>();
  const inForce = (token: AppToken | undefined): AppToken | null =>
    token === undefined || token.expiresAt <= clock.now() ? null : token;
  return {
    find: async (token) => inForce(tokens.get(token)),
    findAgain: async (tokenId) => inForce([...tokens.values()].find((each) => each.tokenId === tokenId)),
    issue({ accountId, scopes, resource = "all", lifeMs = 3_600_000 }) {
      const issued: AppToken = {
        tokenId: newUuid(),
        accountId,
        app: { clientId: "client", appId: "app" },
        scopes: new Set(scopes),
        resource,
        expiresAt: clock.now() + lifeMs,
      };
      const token = newSecret();
      tokens.set(token, issued);
      return { token, issued };
    },
    revoke(tokenId) {
      for (const [token, issued] of tokens) if (issued.tokenId === tokenId) tokens.delete(token);
    },
  };
}
