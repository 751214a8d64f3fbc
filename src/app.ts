import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Accounts, createAccounts, type Principal } from "./accounts/index.ts";
import {
  type AgentRegistry,
  type CodingTool,
  createCoding,
  createCodingTools,
  createRegistry,
  createTemplates,
  hookCommand,
} from "./coding/index.ts";
import { type Config, gatewaySocketPath } from "./config.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { createDisposer, type Disposer } from "./core/disposal.ts";
import { isErrno } from "./core/errors.ts";
import { newUuid } from "./core/ids.ts";
import type { Log } from "./core/log.ts";
import { createFolders, type Folders } from "./folders/index.ts";
import { codingRoutes } from "./http/coding-routes.ts";
import { createHttpServer, healthRoutes, manifestRoutes } from "./http/index.ts";
import { createManifest } from "./manifest.ts";
import { openDatabase } from "./storage/database.ts";
import { connectTerminalHost } from "./terminal-host/client.ts";
import { packageVersion } from "./version.ts";

/** The store, and what needs nothing but the store: for commands that work with and without a running gateway. */
export interface Stores {
  readonly accounts: Accounts;
  readonly folders: Folders;
  readonly agents: AgentRegistry;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A running gateway. */
export interface App extends Stores {
  /** What it listens on, each as a URL. */
  readonly addresses: readonly string[];
  /** The address for people and browsers. */
  readonly baseUrl: string;
}

/**
 * Opens the store of this configuration.
 * @throws PosternError `store_newer` | `store_unavailable`
 */
export async function openStores(config: Config, log: Log): Promise<Stores> {
  const disposer = createDisposer();
  const { close: _close, db: _db, ...stores } = await openRooms(config, { log, clock: systemClock, disposer });
  return { ...stores, close: () => disposer.close() };
}

/**
 * Wires everything and begins to listen.
 * @throws PosternError for a store, an address or a setting that cannot be used; nothing is left open then
 */
export async function createApp(config: Config, log: Log): Promise<App> {
  const disposer = createDisposer();
  try {
    return await start(config, log, disposer);
  } catch (error) {
    await disposer.close();
    throw error;
  }
}

async function openRooms(
  config: Config,
  deps: { readonly log: Log; readonly clock: Clock; readonly disposer: Disposer },
) {
  const { log, clock, disposer } = deps;
  await mkdir(config.home, { recursive: true, mode: 0o700 });
  const database = await openDatabase({ url: config.databaseUrl, path: join(config.home, "postern.db"), log });
  disposer.add(() => database.close());
  const { db } = database;
  const agents = createRegistry({
    templates: createTemplates(config.agents),
    db,
    clock,
    gatewayEnv: () => config.env,
    secrets: config.databaseUrl === null ? [] : [config.databaseUrl],
  });
  return {
    db,
    accounts: createAccounts({ db, clock }),
    folders: createFolders({ db, clock, home: config.home }),
    agents,
    close: () => disposer.close(),
  };
}

async function start(config: Config, log: Log, disposer: Disposer): Promise<App> {
  const clock = systemClock;
  await mkdir(config.runDir, { recursive: true, mode: 0o700 });
  const connecting = connectTerminalHost({
    socketPath: join(config.runDir, "host.sock"),
    stateDir: join(config.home, "terminal-host"),
    version: packageVersion,
    log,
    clock,
  });
  connecting.catch(() => undefined); // awaited below, when the store is open
  const rooms = await openRooms(config, { log, clock, disposer });
  const host = await connecting;
  disposer.add(() => host.close());
  const { db, folders, agents, accounts } = rooms;
  const coding = await createCoding({
    db,
    host,
    agents,
    clock,
    log,
    home: config.home,
    hookCommand: hookCommand(),
    maxSessions: config.maxSessions,
    privatePrompts: config.privatePrompts,
    resolveAllowedDir: (dir, rule) => folders.resolveAllowedDir(dir, rule),
    isVisibleDir: (dir, rule) => folders.isVisible(dir, rule),
  });
  disposer.add(() => coding.stop());
  const tools = createCodingTools(coding);
  const manifest = createManifestSource({ config, tools, folders, agents });
  const server = createHttpServer({
    accounts,
    log,
    config: { ...config, socketPath: gatewaySocketPath(config) },
    routes: [
      healthRoutes,
      manifestRoutes({ manifest }),
      codingRoutes({ tools, spawn: (input, principal, signal) => coding.spawn(input, principal, signal) }),
    ],
  });
  disposer.add(() => server.close());
  const { port, addresses } = await server.listen();
  const baseUrl = config.baseUrl ?? `http://localhost:${port}`;
  log.info({ addresses, version: packageVersion }, "listening");
  return { accounts, folders, agents, addresses, baseUrl, close: () => disposer.close() };
}

function createManifestSource(deps: {
  readonly config: Config;
  readonly tools: readonly CodingTool[];
  readonly folders: Folders;
  readonly agents: AgentRegistry;
}): (principal: Principal) => Promise<Record<string, unknown>> {
  const { config, tools, folders, agents } = deps;
  return async (principal) => {
    const registered = await folders.list();
    const visible = await Promise.all(
      registered.map(({ path }) => folders.isVisible(path, { scope: "coding", within: principal.folders })),
    );
    return createManifest({
      gateway: { id: await gatewayId(config.home), version: packageVersion },
      tools: tools.filter(({ scope }) => principal.scopes.has(scope)),
      folders: registered.filter((_folder, index) => visible[index] === true),
      agents: await agents.list(),
    });
  };
}

/** Stays the same for a state folder, so that a caller can tell gateways apart. */
async function gatewayId(home: string): Promise<string> {
  const path = join(home, "gateway-id");
  try {
    await writeFile(path, newUuid(), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  }
  return (await readFile(path, "utf8")).trim();
}
