import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Accounts, createAccounts } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Log } from "../../src/core/log.ts";
import { createFolders, type Folders } from "../../src/folders/index.ts";
import {
  createHttpServer,
  type HttpConfig,
  type HttpDeps,
  type HttpServer,
  type RouteModule,
} from "../../src/http/index.ts";
import type { Scope } from "../../src/wire/access.ts";
import { openSqliteTestStore } from "./database.ts";
import { createFakeAppTokens, type FakeAppTokens } from "./fake-app-tokens.ts";
import { makeTempFolder } from "./temp-folder.ts";

/** A real HTTP face on a real store and free ports, closed with the test. */
export interface TestHttpServer extends Pick<HttpServer, "close"> {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly addresses: readonly string[];
  readonly socketPath: string;
  readonly home: string;
  /** A folder for repositories. */
  readonly work: string;
  readonly accounts: Accounts;
  readonly folders: Folders;
  /** Stands for the authorization server, whose tokens are accepted. */
  readonly apps: FakeAppTokens;
  /** Everything that was logged, as JSON lines. */
  readonly logged: readonly string[];
  /** A token of the owner with these scopes. */
  token(...scopes: readonly [Scope, ...Scope[]]): Promise<string>;
  /** The header of such a token. */
  signedIn(...scopes: readonly [Scope, ...Scope[]]): Promise<{ readonly authorization: string }>;
}

/** @param routes gets what the routes of the house need */
export async function startHttpServer(
  routes: (deps: { readonly accounts: Accounts; readonly folders: Folders }) => readonly RouteModule[],
  config: Partial<HttpConfig> = {},
  more: Pick<HttpDeps, "clock" | "limits"> = {},
): Promise<TestHttpServer> {
  const root = await makeTempFolder();
  const home = join(root, "home");
  const work = join(root, "work");
  await mkdir(home);
  await mkdir(work);
  const { db } = await openSqliteTestStore();
  const apps = createFakeAppTokens(more.clock ?? systemClock);
  const accounts = createAccounts({ db, clock: systemClock, appTokens: apps });
  const folders = createFolders({ db, clock: systemClock, home });
  const socketPath = join(home, "run/gateway.sock");
  const logged: string[] = [];
  const server = createHttpServer({
    accounts,
    isVisible: (dir, rule) => folders.isVisible(dir, rule),
    log: logInto(logged),
    config: {
      hosts: ["127.0.0.1", "::1"],
      port: 0,
      baseUrl: null,
      auth: "on",
      bodyLimitBytes: 1024 * 1024,
      socketPath,
      trustedProxies: [],
      ...config,
    },
    routes: routes({ accounts, folders }),
    ...more,
  });
  onTestFinished(() => server.close());
  const { port, addresses } = await server.listen();
  const owner = await accounts.owner();
  const token = async (...scopes: readonly [Scope, ...Scope[]]): Promise<string> => {
    const wanted = { name: scopes.join(" "), scopes, expiresAt: null, folders: null };
    return (await accounts.tokens.create(owner.accountId, wanted)).token;
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    addresses,
    socketPath: config.socketPath ?? socketPath,
    home,
    work,
    accounts,
    folders,
    apps,
    logged,
    token,
    signedIn: async (...scopes) => ({ authorization: `Bearer ${await token(...scopes)}` }),
    close: () => server.close(),
  };
}

function logInto(lines: string[]): Log {
  const write =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void lines.push(JSON.stringify({ level, message, ...fields }));
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
