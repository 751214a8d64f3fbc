import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import type { Accounts, Principal } from "../accounts/index.ts";
import { type AgentRegistry, type AgentTemplate, hookCommand } from "../agents/index.ts";
import { systemClock } from "../core/clock.ts";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createEvents } from "../events/index.ts";
import { createClones, type Folders } from "../folders/index.ts";
import { createHttpServer, type HttpServer, toProblem } from "../http/index.ts";
import { createMemoryTools } from "../logs/index.ts";
import { createMcp } from "../mcp/index.ts";
import { writeFileAtomic } from "../platform/files.ts";
import type { Push } from "../push/index.ts";
import { createReviews } from "../reviews/index.ts";
import { createFork, createSharing } from "../sharing/index.ts";
import { pruneCopiesDaily } from "../storage/kept-copies.ts";
import type { Tool } from "../wire/tool.ts";
import { type BegunStart, beginStart } from "./begin-start.ts";
import { type Coding, createCoding } from "./coding.ts";
import { createComparisonTools, openComparisons } from "./comparisons.ts";
import { browserAddress, type Config, gatewayOrigins } from "./config.ts";
import { gatewaySocketPath } from "./environment.ts";
import { recordGateway, removeGatewayRecord } from "./gateway-process.ts";
import { openMemory } from "./memory.ts";
import { openPermissionRules } from "./permission-rules.ts";
import { createPublishTools, openPublish } from "./publish.ts";
import { openPush, withdrawingAnswered } from "./push.ts";
import { createReviewTools } from "./review-tools.ts";
import { gatewayRoutes } from "./routes.ts";
import { forkPorts, sharingPorts } from "./sharing.ts";
import { openStores } from "./stores.ts";
import { openTelegramChat } from "./telegram-chat.ts";
import { createCodingTools, createForkTool } from "./tools.ts";
import { packageVersion } from "./version.ts";

/** A running gateway. */
export interface App {
  /** What it listens on, each as a URL. */
  readonly addresses: readonly string[];
  /** The address for people and browsers. */
  readonly baseUrl: string;
  readonly accounts: Accounts;
  readonly folders: Folders;
  readonly agents: AgentRegistry;
  /** All routes, including hidden ones. */
  routes(): ReturnType<HttpServer["routes"]>;
  /** The process of the terminal host; null while there is none. */
  terminalHostPid(): number | null;
  /** Stops listening and disconnects from the terminal host; agents keep running. Keeps the lock on the state folder. Idempotent. */
  stop(): Promise<void>;
  /** {@link App.stop}, then releases the state folder. Idempotent. */
  close(): Promise<void>;
}

export interface AppOptions {
  /** The first steps, done while this file was loaded. */
  readonly begun?: BegunStart;
  /** Agents besides the built-in and configured ones. */
  readonly furtherAgents?: readonly AgentTemplate[];
}

/**
 * Creates a gateway and starts listening.
 * @throws PosternError for a store, an address or a setting that cannot be used; everything is closed then
 */
export async function createApp(config: Config, log: Log, options: AppOptions = {}): Promise<App> {
  const disposer = createDisposer();
  const { furtherAgents = [] } = options;
  const { lock, linking } = options.begun ?? (await beginStart(config, log));
  let hasStarted = false;
  // Closed even if the store cannot be opened.
  disposer.add(() =>
    linking.then(
      (linked) => (hasStarted ? linked.close() : linked.closeUnused()),
      () => undefined,
    ),
  );
  const close = (): Promise<void> => disposer.close().finally(() => lock.close());
  try {
    const app = await start({ config, log, linking, furtherAgents }, disposer);
    hasStarted = true;
    return { ...app, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface StartDeps extends Pick<BegunStart, "linking"> {
  readonly config: Config;
  readonly log: Log;
  readonly furtherAgents: readonly AgentTemplate[];
}

async function start(
  { config, log, linking, furtherAgents }: StartDeps,
  disposer: Disposer,
): Promise<Omit<App, "close">> {
  const clock = systemClock;
  const placeOn = (port: number) => ({
    baseUrl: browserAddress({ ...config, port }),
    origins: gatewayOrigins({ ...config, port }),
  });
  let place = placeOn(config.port);
  disposer.add(() => removeGatewayRecord(config));
  const {
    db,
    dialect,
    accounts,
    oauth,
    folders,
    profiles,
    proposals,
    agents,
    secrets,
    fetch,
    erasure,
    close: closeStores,
  } = await openStores(config, { log, clock, place: () => place, furtherAgents });
  disposer.add(closeStores);
  const host = await linking;
  const clones = createClones({ folders, env: config.env, clock, log });
  disposer.add(() => clones.close());
  // Visibility needs `coding`, which is created after the events.
  const seen = Promise.withResolvers<Coding["isVisibleDir"]>();
  const events = await createEvents({
    db,
    clock,
    log,
    secrets,
    fetch,
    isVisible: async (dir, within) => (await seen.promise)(dir, { scope: "coding", within }),
  });
  disposer.add(() => events.close());
  // A gateway that failed to start sends nothing.
  seen.promise.catch(() => undefined);
  disposer.add(() => seen.reject(new PosternError("gateway_stopping", "The gateway did not start.")));
  let push: Push | null = null;
  const rules = await openPermissionRules({ config, db, clock, log, accounts, oauth, folders });
  const coding = await createCoding({
    db,
    rules,
    host,
    agents,
    clock,
    log,
    erasure,
    home: config.home,
    hookCommand: hookCommand(),
    hookSocketPath: join(config.runDir, "hooks.sock"),
    permissionAnswerMs: config.permissionAnswerMs,
    idleTimeoutMs: config.idleTimeout,
    maxSessions: config.maxSessions,
    privatePrompts: config.privatePrompts,
    // A token limited to folders does not act as the owner. With POSTERN_AUTH=none every caller does.
    resolveAllowedDir: (dir, rule) => folders.resolveAllowedDir(dir, { ...rule, ownRequest: rule.within === null }),
    isVisibleDir: (dir, rule) => folders.isVisible(dir, rule),
    visibleAmong: (dirs, rule) => folders.visibleAmong(dirs, rule),
    worktreeNameFor: (dir) => folders.worktreeNameFor(dir),
    startProfileOf: (dir, checkout) => profiles.startProfileOf(dir, checkout),
    catalog: {
      url: config.databaseUrl,
      path: join(config.home, "catalog.db"),
      storePath: join(config.home, "postern.db"),
    },
    pathVariable: config.env["PATH"] ?? "",
    publisher: events.publisher,
    async forgetInChats(names) {
      await push?.forget(names);
      return (await import("../chats/index.ts")).forgetSessionInChats(db, names);
    },
    async forgetShares(names) {
      await sharing.forget(names);
      await comparisons.forget(names);
    },
    recordSetupJob: (note) => accounts.audit.note(note),
  });
  disposer.add(() => coding.stop());
  seen.resolve(coding.isVisibleDir);
  const memory = await openMemory({ config, db, dialect, clock, log, erasure, accounts, folders, coding, events });
  disposer.add(() => memory.close());
  push = openPush({ config, db, secrets, fetch, accounts, coding, events, baseUrl: () => place.baseUrl, clock, log });
  disposer.add(() => push?.close());
  const shared = sharingPorts({ accounts, oauth, agents, coding });
  const sharing = createSharing({ db, clock, ...shared });
  const fork = createFork({ ...shared, ports: forkPorts(coding) });
  const reviews = createReviews({
    db,
    clock,
    ports: { ...coding.reviewAccess, readFiles: (...of) => coding.changes.readFiles(...of) },
  });
  const comparisons = openComparisons({ db, clock, log, accounts, coding });
  const publish = openPublish({ config, accounts, agents, coding });
  const tools: readonly Tool<Principal>[] = [
    ...createCodingTools(withdrawingAnswered(coding, push)),
    createForkTool(fork),
    ...createReviewTools(reviews),
    ...createPublishTools(publish),
    ...createComparisonTools(comparisons),
    ...createMemoryTools(memory.logs),
  ];
  const mcp = createMcp({
    version: packageVersion,
    tools,
    sessions: coding,
    events: (options) => events.stream(options),
    problemOf: (error, requestId) => toProblem(error, requestId).problem,
    isConnected: (accountId, appId) => oauth.apps.isConnected(accountId, appId),
    clock,
    log,
  });
  disposer.add(() => mcp.close());
  const gateway = { id: await gatewayId(config.home), version: packageVersion };
  const server = createHttpServer({
    accounts,
    isVisible: coding.isVisibleDir,
    log,
    config: { ...config, socketPath: gatewaySocketPath(config) },
    routes: gatewayRoutes({
      config,
      log,
      gateway,
      place: () => place,
      accounts,
      folders,
      profiles,
      proposals,
      clones,
      agents,
      oauth,
      events,
      coding,
      memory,
      push,
      sharing,
      fork,
      reviews,
      publish,
      comparisons,
      mcp,
      rules,
      tools,
      ready: { store: () => sql`select 1`.execute(db), terminalHost: () => host.list() },
    }),
  });
  disposer.add(() => server.close());
  const { port, addresses } = await server.listen();
  place = placeOn(port);
  await recordGateway(config, { baseUrl: place.baseUrl, addresses });
  oauth.start();
  log.info({ addresses, version: packageVersion }, "listening");
  coding.startIndexing();
  // Not awaited: starting an agent probes its version again.
  void agents
    .probeVersions()
    .catch((error: unknown) => log.debug({ reason: messageOf(error) }, "agents' versions are unknown"));
  memory.start();
  push.start();
  disposer.add(pruneCopiesDaily(join(config.home, "backups"), { clock, log }));
  const chat = await openTelegramChat({
    config,
    db,
    accounts,
    folders,
    tools,
    attach: (file, body, principal) => coding.attachments.add(file, body, principal),
    previewRules: (input, principal) => coding.previewRules(input, principal),
    events: (options) => events.stream(options),
    problemOf: (error, requestId) => toProblem(error, requestId).problem,
    baseUrl: () => place.baseUrl,
    clock,
    log,
  });
  disposer.add(async () => chat?.close());
  return {
    addresses,
    baseUrl: place.baseUrl,
    accounts,
    folders,
    agents,
    routes: () => server.routes(),
    terminalHostPid: () => host.host()?.pid ?? null,
    stop: () => disposer.close(),
  };
}

/** Identifies a state folder to callers. Only for the holder of the folder's lock. */
async function gatewayId(home: string): Promise<string> {
  const path = join(home, "gateway-id");
  const known = await readFile(path, "utf8").catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return "";
    throw error;
  });
  if (known.trim() !== "") return known.trim();
  const id = newUuid();
  await writeFileAtomic(path, id);
  return id;
}

/** Closes everything once, last opened first. */
interface Disposer {
  add(close: () => void | Promise<void>): void;
  /** Idempotent. Runs every closer, then throws the first failure. */
  close(): Promise<void>;
}

function createDisposer(): Disposer {
  const closers: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error); // thrown below
      }
    }
    if (failures.length > 0) throw failures[0];
  }
  return {
    add: (close) => void closers.push(close),
    close: () => (closing ??= closeAll()),
  };
}
