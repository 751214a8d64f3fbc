import type { MadeBackup, RestoredBackup } from "../backup/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Folder, FolderScope, Scope, Token } from "../wire/access.ts";
import type { AccountRecord, AddAccountInput, AddedAccount } from "../wire/accounts.ts";
import type { AgentEntry, ListAgentsOutput } from "../wire/coding.ts";
import type { Finding } from "../wire/doctor.ts";
import type { AddClientInput, AddedClient, OAuthClient } from "../wire/oauth.ts";
import type { BrowserSession, SignInLink } from "../wire/sign-in.ts";
import type { UserTerminal } from "./attach/user-terminal.ts";

/** What `serve` may set; the configuration decides the rest. */
export interface GatewayOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly baseUrl?: string;
  readonly insecureHttp?: boolean;
}

/** A gateway of this process. */
export interface RunningGateway {
  /** What it listens on, each as a URL. */
  readonly addresses: readonly string[];
  /** The address for people and browsers. */
  readonly baseUrl: string;
  /** Whether callers need a token. */
  readonly authRequired: boolean;
  /** Signs a browser in as the owner, once. */
  createSignInLink(): Promise<SignInLink>;
  /** Stops listening and lets go of the terminal host: agents live on. No other gateway can begin before this process has ended. */
  close(): Promise<void>;
  /** After the close: ends the terminal host and, before it, every program in its terminals. */
  endTerminals(): Promise<void>;
}

/** The store, opened by this process, whether or not a gateway runs on it too. */
export interface CliStores {
  readonly folders: {
    add(path: string, scopes: readonly FolderScope[]): Promise<Folder>;
    list(): Promise<readonly Folder[]>;
    remove(path: string): Promise<Folder>;
  };
  readonly tokens: {
    create(request: NewToken): Promise<{ readonly token: string; readonly record: Token }>;
    list(): Promise<readonly Token[]>;
    revoke(tokenId: string): Promise<void>;
  };
  readonly browsers: {
    /**
     * Signs a browser in once: as the owner, or as `account`, a name or an id. Without `baseUrl` at the address that the configuration gives.
     * @throws PosternError `account_not_found`
     */
    createLink(baseUrl: string | null, account: string | null): Promise<SignInLink>;
    list(): Promise<readonly Omit<BrowserSession, "current">[]>;
    revoke(browserSessionId: string): Promise<void>;
  };
  readonly accounts: {
    add(wanted: AddAccountInput, baseUrl: string | null): Promise<AddedAccount>;
    list(): Promise<readonly AccountRecord[]>;
    remove(nameOrId: string): Promise<AccountRecord>;
  };
  readonly clients: {
    add(wanted: AddClientInput): Promise<AddedClient>;
    list(): Promise<readonly OAuthClient[]>;
    remove(clientId: string): Promise<void>;
  };
  readonly agents: {
    list(): Promise<ListAgentsOutput>;
    /** Every agent that Postern knows, found or not. */
    known(): Promise<readonly KnownAgent[]>;
    /** The same of one agent, with its program at `binary`, or with null where PATH finds it by now. */
    locate(name: string, binary: string | null): Promise<KnownAgent>;
    /** What its installation runs with. */
    installEnvironment(name: string): Environment;
    /** How to run its log-in. */
    logIn(name: string, binary: string): { readonly argv: readonly [string, ...string[]]; readonly env: Environment };
    /** Configures agents and sets the default, all or nothing. A null `binary` is looked up on PATH at each start. */
    configure(
      choices: readonly { readonly name: string; readonly binary: string | null }[],
      defaultAgent: string | null,
    ): Promise<void>;
  };
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** What set-up has to know of an agent. */
export interface KnownAgent {
  readonly name: string;
  readonly aliases: readonly string[];
  /** As its vendor calls it. */
  readonly title: string;
  readonly isConfigured: boolean;
  readonly isDefault: boolean;
  /** Absolute path of its program; null when it is not found. */
  readonly binary: string | null;
  readonly version: string | null;
  readonly login: AgentEntry["login"];
  readonly npmPackage: string | null;
  /** Installs it, by argv; null for one that npm does not have. */
  readonly installCommand: readonly [string, ...string[]] | null;
  /** Ways to log in; empty for an agent without a login. */
  readonly loginMethods: readonly string[];
  /** The vendor's key variable that is set; null when none is. */
  readonly keyVariable: string | null;
}

/** A personal token to be made for the owner. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Epoch milliseconds; null for a token without end. */
  readonly expiresAt: number | null;
  /** Absolute paths that it is limited to; null for no limit. */
  readonly folders: readonly string[] | null;
}

/** The gateway as a service of this user. */
export interface CliService {
  /** That of the command, and of the gateway which the service would start. */
  readonly version: string;
  /** The file that the system's service manager reads, and what is or would be in it. */
  readonly path: string;
  readonly text: string;
  /** Variables of the gateway (0600), which the service reads at each start. */
  readonly environmentFile: string;
  /** @throws PosternError `service_manager_missing` */
  requireManager(): Promise<void>;
  /** Writes the agents' key variables of this process into the environment file. @returns their names */
  keepKeys(): Promise<readonly string[]>;
  /**
   * @param options `restart`: what runs is started anew even if its file is as it should be
   * @throws PosternError `service_manager_missing` | `service_failed`
   */
  install(options: {
    readonly restart: boolean;
  }): Promise<{ readonly changed: boolean; readonly hints: readonly string[] }>;
  uninstall(): Promise<{ readonly removed: boolean }>;
  status(): Promise<{
    readonly manager: "systemd" | "launchd";
    readonly path: string;
    readonly installed: boolean;
    readonly enabled: boolean;
    readonly running: boolean;
    readonly pid: number | null;
  }>;
}

/** What `backup` is asked for. */
export interface BackupOptions {
  /** Absolute. */
  readonly file: string;
  readonly withKey: boolean;
  readonly withRecordings: boolean;
  readonly progress: (words: string) => void;
}

/** What `restore` is asked for. */
export interface RestoreOptions {
  /** Absolute. */
  readonly file: string;
  readonly replace: boolean;
  readonly replay: boolean;
  readonly progress: (words: string) => void;
}

/** What the command line needs of the house; `main.ts` passes it in. */
export interface CliPorts {
  /** @throws PosternError when the configuration does not fit or the port is taken */
  startGateway(overrides: GatewayOverrides): Promise<RunningGateway>;
  /**
   * Whether a gateway would be started with these settings; nothing is made by it.
   * @throws PosternError `invalid_configuration` | `unsafe_configuration`
   */
  checkSettings(overrides: GatewayOverrides): Promise<{ readonly baseUrl: string }>;
  openStores(): Promise<CliStores>;
  /** @throws PosternError `backup_exists` | `store_unavailable` | `store_newer` */
  backUp(options: BackupOptions): Promise<MadeBackup>;
  /** @throws PosternError see `restoreBackup` */
  restore(options: RestoreOptions): Promise<RestoredBackup>;
  /** Path of the Unix socket on which the gateway takes the owner's requests. */
  socketPath(): Promise<string>;
  /** Looks at everything that Postern needs. `smoke` starts each agent once. */
  diagnose(options: { readonly smoke: boolean }): Promise<readonly Finding[]>;
  /** @throws PosternError `service_manager_missing` on a system without one that we know */
  service(): Promise<CliService>;
  /**
   * Runs a program in this terminal, by argv, until it ends; what it prints goes to standard error. Ctrl-C ends it, and not us.
   * @returns its exit code; null when it could not be started or was ended by a signal
   */
  runProgram(argv: readonly [string, ...string[]], env: Environment): Promise<number | null>;
  /** `POSTERN_TOKEN`; null when it is not set. */
  token(): Promise<string | null>;
}

/** The world around one run of the command. */
export interface CliContext {
  readonly ports: CliPorts;
  readonly stdout: (text: string) => void;
  /** Resolves when the reader has taken what was written, but for what a pipe holds. */
  readonly stdoutTaken: () => Promise<void>;
  readonly stderr: (text: string) => void;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** How wide the terminal is that shows the standard output; null when that is none. */
  readonly columns: number | null;
  /** Whether a person sits at both ends. */
  readonly interactive: boolean;
  /** The terminal at both ends; null when there is none. */
  readonly terminal: () => UserTerminal | null;
  readonly cwd: string;
  readonly clock: Clock;
}
