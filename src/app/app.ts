import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import type { Accounts, Principal } from "../accounts/index.ts";
import { type AgentRegistry, type AgentTemplate, hookCommand } from "../agents/index.ts";
import { systemClock } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createEvents } from "../events/index.ts";
import type { Folders } from "../folders/index.ts";
import { createHttpServer, type HttpServer, toProblem } from "../http/index.ts";
import { createMemoryTools } from "../logs/index.ts";
import { createMcp } from "../mcp/index.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { pruneCopiesDaily } from "../storage/kept-copies.ts";
import type { Tool } from "../wire/tool.ts";
import { type BegunStart, beginStart } from "./begin-start.ts";
import { type Coding, createCoding } from "./coding.ts";
import { browserAddress, type Config, gatewayOrigins, gatewaySocketPath } from "./config.ts";
import { openMemory } from "./memory.ts";
import { gatewayRoutes } from "./routes.ts";
import { openStores } from "./stores.ts";
import { openTelegramChat } from "./telegram-chat.ts";
import { createCodingTools } from "./tools.ts";
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
  /** What callers can reach, hidden routes too. */
  routes(): ReturnType<HttpServer["routes"]>;
  /** The process that keeps the terminals; null while there is none. */
  terminalHostPid(): number | null;
  /** Stops listening and lets go of the terminal host: agents live on. No other gateway can take the state folder yet. Idempotent. */
  stop(): Promise<void>;
  /** {@link App.stop}, then lets go of the state folder. Idempotent. */
  close(): Promise<void>;
}

/** What a gateway is started with beside its configuration. */
export interface AppOptions {
  /** The first steps, done while this file was loaded. */
  readonly begun?: BegunStart;
  /** Agents beside the built-in ones and those of the configuration. */
  readonly furtherAgents?: readonly AgentTemplate[];
}

/**
 * Wires everything and begins to listen.
 * @throws PosternError for a store, an address or a setting that cannot be used; nothing is left open then
 */
export async function createApp(config: Config, log: Log, options: AppOptions = {}): Promise<App> {
  const disposer = createDisposer();
  const { furtherAgents = [] } = options;
  const { lock, linking } = options.begun ?? (await beginStart(config, log));
  let hasStarted = false;
  // Awaited when the store is open; closed also when it cannot be opened.
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
  const {
    db,
    dialect,
    accounts,
    oauth,
    folders,
    agents,
    secrets,
    fetch,
    erasure,
    close: closeStores,
  } = await openStores(config, { log, clock, place: () => place, furtherAgents });
  disposer.add(closeStores);
  const host = await linking;
  // Coding knows which directory is a worktree of which; it says so when it is there.
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
  // A gateway that did not come to be sends nothing.
  seen.promise.catch(() => undefined);
  disposer.add(() => seen.reject(new PosternError("gateway_stopping", "The gateway did not start.")));
  const coding = await createCoding({
    db,
    host,
    agents,
    clock,
    log,
    erasure,
    home: config.home,
    hookCommand: hookCommand(),
    hookSocketPath: join(config.runDir, "hooks.sock"),
    permissionAnswerMs: config.permissionAnswerMs,
    maxSessions: config.maxSessions,
    privatePrompts: config.privatePrompts,
    // A request with a token for some folders only is not the owner's own. With POSTERN_AUTH=none every caller acts as the owner.
    resolveAllowedDir: (dir, rule) => folders.resolveAllowedDir(dir, { ...rule, ownRequest: rule.within === null }),
    isVisibleDir: (dir, rule) => folders.isVisible(dir, rule),
    visibleAmong: (dirs, rule) => folders.visibleAmong(dirs, rule),
    catalog: {
      url: config.databaseUrl,
      path: join(config.home, "catalog.db"),
      storePath: join(config.home, "postern.db"),
    },
    pathVariable: config.env["PATH"] ?? "",
    publisher: events.publisher,
    forgetInChats: async (names) => (await import("../chats/index.ts")).forgetSessionInChats(db, names),
    recordSetupJob: (note) => accounts.audit.note(note),
  });
  disposer.add(() => coding.stop());
  seen.resolve(coding.isVisibleDir);
  const memory = await openMemory({ config, db, dialect, clock, log, erasure, accounts, folders, coding, events });
  disposer.add(() => memory.close());
  const tools: readonly Tool<Principal>[] = [...createCodingTools(coding), ...createMemoryTools(memory.logs)];
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
      agents,
      oauth,
      events,
      coding,
      memory,
      mcp,
      tools,
      ready: { store: () => sql`select 1`.execute(db), terminalHost: () => host.list() },
    }),
  });
  disposer.add(() => server.close());
  const { port, addresses } = await server.listen();
  place = placeOn(port);
  oauth.start();
  log.info({ addresses, version: packageVersion }, "listening");
  coding.startIndexing();
  memory.start();
  disposer.add(pruneCopiesDaily(join(config.home, "backups"), { clock, log }));
  const chat = await openTelegramChat({
    config,
    db,
    accounts,
    folders,
    tools,
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

/** Stays the same for a state folder, so that a caller can tell gateways apart. Only the holder of the folder's lock may ask. */
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

/** Collects what must be closed and closes it once, last opened first. */
interface Disposer {
  add(close: () => void | Promise<void>): void;
  /** Idempotent; every closer runs even when another failed, and the first failure is thrown at the end. */
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
        failures.push(error); // thrown below, after the others had their turn
      }
    }
    if (failures.length > 0) throw failures[0];
  }
  return {
    add: (close) => void closers.push(close),
    close: () => (closing ??= closeAll()),
  };
}
