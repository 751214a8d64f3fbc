import type { Accounts, Principal } from "../accounts/index.ts";
import { type AgentRegistry, changeAgent, createKnownAgents } from "../agents/index.ts";
import type { Comparisons } from "../comparisons/index.ts";
import type { Log } from "../core/log.ts";
import type { Events } from "../events/index.ts";
import type { Clones, FolderProfiles, Folders, Proposals } from "../folders/index.ts";
import { codingRoutes } from "../http/coding-routes.ts";
import {
  accountRoutes,
  agentRoutes,
  agentSetupRoutes,
  appRoutes,
  attachmentRoutes,
  auditRoutes,
  changesRoutes,
  clientRoutes,
  cloneRoutes,
  comparisonRoutes,
  decisionRoutes,
  docsRoutes,
  draftRoutes,
  eventRoutes,
  folderProfileRoutes,
  folderRoutes,
  folderScriptRoutes,
  healthRoutes,
  logRoutes,
  manifestRoutes,
  mcpRoutes,
  oauthRoutes,
  openApiRoutes,
  passkeyRoutes,
  permissionRuleRoutes,
  placeRoutes,
  publishRoutes,
  pushRoutes,
  queueRoutes,
  type ReadyParts,
  type RouteModule,
  readyRoutes,
  recordingRoutes,
  rescueRoutes,
  reviewedFileRoutes,
  reviewRoutes,
  sessionNoteRoutes,
  sharingRoutes,
  signInRoutes,
  terminalSocket,
  ticketRoutes,
  tokenRoutes,
  turnRoutes,
  webhookRoutes,
  webRoutes,
} from "../http/index.ts";
import type { Mcp } from "../mcp/index.ts";
import type { OAuth } from "../oauth/index.ts";
import type { PermissionRules } from "../permissions/index.ts";
import type { Publish } from "../publish/index.ts";
import type { Push } from "../push/index.ts";
import type { Reviews } from "../reviews/index.ts";
import type { Fork, Sharing } from "../sharing/index.ts";
import type { Folder } from "../wire/access.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";
import { type Tool, toolAnnotations, toolSchema } from "../wire/tool.ts";
import type { Coding } from "./coding.ts";
import type { Config } from "./config.ts";
import type { Memory } from "./memory.ts";
import { packageVersion } from "./version.ts";

export interface RouteParts {
  readonly config: Pick<Config, "auth" | "env">;
  readonly log: Log;
  readonly gateway: { readonly id: string; readonly version: string };
  /** The port may be known only once the gateway listens. */
  place(): { readonly baseUrl: string };
  readonly accounts: Accounts;
  readonly folders: Folders;
  readonly profiles: FolderProfiles;
  readonly proposals: Proposals;
  readonly clones: Clones;
  readonly agents: AgentRegistry;
  readonly oauth: OAuth;
  readonly events: Events;
  readonly coding: Coding;
  readonly memory: Memory;
  readonly push: Push;
  readonly sharing: Sharing;
  readonly fork: Fork;
  readonly reviews: Reviews;
  readonly publish: Publish;
  readonly comparisons: Comparisons;
  readonly mcp: Mcp;
  readonly rules: PermissionRules;
  readonly tools: readonly Tool<Principal>[];
  readonly ready: ReadyParts;
}

export function gatewayRoutes(parts: RouteParts): readonly RouteModule[] {
  const { config, log, gateway, accounts, folders, agents, oauth, events, coding, memory } = parts;
  const { push, sharing, mcp, tools } = parts;
  const baseUrl = (): string => parts.place().baseUrl;
  return [
    healthRoutes,
    readyRoutes(parts.ready),
    manifestRoutes({ manifest: createManifestSource({ gateway, tools, folders, agents }) }),
    openApiRoutes({ version: packageVersion }),
    docsRoutes,
    webRoutes(),
    folderRoutes({ folders }),
    cloneRoutes({ clones: parts.clones, audit: accounts.audit }),
    folderProfileRoutes({ profiles: parts.profiles, proposals: parts.proposals, audit: accounts.audit }),
    tokenRoutes(accounts),
    signInRoutes({ accounts, gateway: () => ({ ...gateway, baseUrl: baseUrl() }) }),
    passkeyRoutes({ accounts, baseUrl }),
    accountRoutes({ accounts, baseUrl }),
    auditRoutes(accounts),
    clientRoutes({ clients: oauth.clients, audit: accounts.audit }),
    appRoutes(oauth),
    ticketRoutes({ tickets: accounts.tickets }),
    webhookRoutes({ webhooks: events.webhooks }),
    eventRoutes({
      log,
      stream: (options) => events.stream(options),
      async sessionIdsOf(sessionId, principal, signal) {
        const session = await coding.read({ sessionId, last: 1, blocks: false }, principal, signal);
        return [session.sessionId, ...session.sessionAliases];
      },
    }),
    sessionNoteRoutes({
      edit: (input, principal) => coding.edit(input, principal),
      see: (sessionId, principal) => coding.see(sessionId, principal),
      labels: (principal) => coding.labels(principal),
    }),
    attachmentRoutes(coding.attachments),
    rescueRoutes({ rescues: coding.rescues }),
    recordingRoutes({ recordings: coding.recordings, log }),
    agentRoutes({
      list: () => coding.listAgents(),
      change: (name, input) => changeAgent(agents, name, input),
      remove: (name) => agents.remove(name),
      audit: accounts.audit,
    }),
    agentSetupRoutes({ known: () => createKnownAgents(agents).list(), jobs: coding.setupJobs }),
    changesRoutes(coding.changes),
    reviewedFileRoutes(coding.changes),
    turnRoutes(coding.findTurns, coding.findTurnImage),
    reviewRoutes(parts.reviews),
    sharingRoutes({ sharing, fork: parts.fork, audit: accounts.audit, baseUrl, log }),
    publishRoutes(parts.publish),
    comparisonRoutes(parts.comparisons),
    permissionRuleRoutes({
      rules: parts.rules,
      preview: (input, principal) => coding.previewRules(input, principal),
      placeOf: (place, principal) => coding.rulePlaceOf(place, principal),
    }),
    logRoutes(memory),
    pushRoutes({ push, audit: accounts.audit }),
    draftRoutes({ drafts: coding.drafts }),
    placeRoutes({
      complete: async (path, { accountId, folders: within }) => {
        const isOwner = accountId === (await accounts.owner()).accountId && within === null;
        const userHome = isOwner ? (config.env["HOME"] ?? null) : null;
        return folders.complete(path, { within, anywhere: isOwner, userHome });
      },
      branches: (dir, principal) => coding.branches(dir, principal),
      dirs: (principal) => coding.dirs(principal),
      completions: (query, principal) => coding.completions(query, principal),
    }),
    terminalSocket({ viewTerminal: (request, caller, link) => coding.viewTerminal(request, caller, link) }),
    mcpRoutes({ handle: (request) => mcp.handle(request), log }),
    decisionRoutes({ oauth, accounts, auth: config.auth }),
    oauthRoutes({ oauth, baseUrl }),
    queueRoutes(coding.queue),
    folderScriptRoutes({
      scripts: coding.scripts,
      rerun: (sessionId, principal) => coding.rerunSetup(sessionId, principal),
    }),
    codingRoutes({ tools, spawn: (input, principal, signal) => coding.spawn(input, principal, signal) }),
  ];
}

function createManifestSource(deps: {
  readonly gateway: { readonly id: string; readonly version: string };
  readonly tools: readonly Tool<Principal>[];
  readonly folders: Folders;
  readonly agents: AgentRegistry;
}): (principal: Principal) => Promise<Record<string, unknown>> {
  const { gateway, tools, folders, agents } = deps;
  return async (principal) => {
    const registered = await folders.list();
    const visible = await Promise.all(
      registered.map(({ path }) => folders.isVisible(path, { scope: "coding", within: principal.folders })),
    );
    return createManifest({
      gateway,
      tools: tools.filter(({ scope }) => principal.scopes.has(scope)),
      folders: registered.filter((_folder, index) => visible[index] === true),
      agents: await agents.list(),
    });
  };
}

/** Incremented with incompatible changes. */
export const manifestProtocolVersion = "1";

/** The document that an LLM's host reads to offer Postern's tools. */
export function createManifest(facts: {
  readonly gateway: { readonly id: string; readonly version: string };
  readonly tools: readonly Omit<Tool<never>, "run">[];
  readonly folders: readonly Folder[];
  readonly agents: ListAgentsOutput;
}): Record<string, unknown> {
  return {
    protocolVersion: manifestProtocolVersion,
    gateway: { ...facts.gateway, name: "postern", platform: process.platform },
    tools: facts.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: toolSchema(tool.input, "input"),
      outputSchema: toolSchema(tool.output, "output"),
      annotations: toolAnnotations(tool),
    })),
    folders: facts.folders,
    agents: facts.agents.agents,
    availableAgents: facts.agents.availableAgents,
    default: facts.agents.default,
  };
}
