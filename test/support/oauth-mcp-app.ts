import {
  Client,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";

/** An MCP client's own sign-in, with all it has to keep in memory: what an editor or a bot would keep on its disk. */
export interface McpApp {
  /** What the SDK wants to know and to keep. */
  readonly provider: OAuthClientProvider;
  /** Where it would have sent the browser. */
  readonly sentTo: () => URL | null;
  readonly tokens: () => StoredOAuthTokens | undefined;
  /** Forgets the access token as if its time had come. */
  spoilAccessToken(): void;
}

/** @param identity `metadataUrl` is the client's id instead of a registration */
export function createMcpApp(redirectUri: string, identity: { readonly metadataUrl?: string } = {}): McpApp {
  let information: StoredOAuthClientInformation | undefined;
  let tokens: StoredOAuthTokens | undefined;
  let verifier = "";
  let discovered: OAuthDiscoveryState | undefined;
  let sentTo: URL | null = null;
  const clientMetadata: OAuthClientMetadata = {
    client_name: "An MCP client",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadata,
    ...(identity.metadataUrl !== undefined && { clientMetadataUrl: identity.metadataUrl }),
    clientInformation: () => information,
    saveClientInformation: (given) => void (information = given),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization(url) {
      sentTo = url;
    },
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    saveDiscoveryState: (given) => void (discovered = given),
    discoveryState: () => discovered,
    invalidateCredentials(what) {
      if (what === "all" || what === "tokens") tokens = undefined;
      if (what === "all" || what === "client") information = undefined;
    },
  };
  return {
    provider,
    sentTo: () => sentTo,
    tokens: () => tokens,
    spoilAccessToken() {
      if (tokens !== undefined) tokens = { ...tokens, access_token: "spoilt" };
    },
  };
}

/** A connection to `/mcp`, as the SDK makes it. */
export interface McpConnection {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

/** @param auth the app's own sign-in, or an access token that it has already */
export function mcpConnection(mcpUrl: string, auth: McpApp | string): McpConnection {
  const authProvider = typeof auth === "string" ? { token: async () => auth } : auth.provider;
  return {
    client: new Client({ name: "test", version: "0.0.0" }),
    transport: new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider }),
  };
}

/** Calls `coding_list_sessions` through `/mcp` and says how many there are. @throws what the SDK throws */
export async function listThroughMcp(mcpUrl: string, auth: McpApp | string): Promise<number> {
  const { client, transport } = mcpConnection(mcpUrl, auth);
  try {
    await client.connect(transport);
    const { structuredContent, isError, content } = await client.callTool({
      name: "coding_list_sessions",
      arguments: {},
    });
    if (isError === true) throw new Error(`The tool failed: ${JSON.stringify(content)}`);
    const total: unknown = Object(structuredContent).total;
    if (typeof total !== "number") throw new Error(`No list: ${JSON.stringify(structuredContent)}`);
    return total;
  } finally {
    await client.close();
  }
}
