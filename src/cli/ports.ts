import type { MadeBackup, RestoredBackup } from "../backup/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Folder, FolderScope, Scope, Token } from "../wire/access.ts";
import type { AccountRecord, AddAccountInput, AddedAccount } from "../wire/accounts.ts";
import type { AgentEntry, ListAgentsOutput } from "../wire/coding.ts";
import type { Finding } from "../wire/doctor.ts";
import type { FolderProfile, ProfileProposal } from "../wire/folder-profiles.ts";
import type { AddClientInput, AddedClient, OAuthClient } from "../wire/oauth.ts";
import type { BrowserSession, SignInLink } from "../wire/sign-in.ts";
import type { UserTerminal } from "./attach/user-terminal.ts";

/** Settings from the options of `serve`. */
export interface GatewayOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly baseUrl?: string;
  readonly insecureHttp?: boolean;
}

/** A gateway in this process. */
export interface RunningGateway {
  /** URLs it listens on. */
  readonly addresses: readonly string[];
  /** The address for people and browsers. */
  readonly baseUrl: string;
  /** Whether browsers on other machines, such as phones, can use this address. */
  readonly isReachableFromOutside: boolean;
  /** Whether callers need a token. */
  readonly authRequired: boolean;
  /** Signs in one browser as the owner. */
  createSignInLink(): Promise<SignInLink>;
  /** Stops listening; agents keep running. No other gateway can start before this process exits. */
  close(): Promise<void>;
  /** After close: ends all programs in terminals, then the terminal host. */
  endTerminals(): Promise<void>;
}

/** A folder's complete profile as stored, including the values of its variables. */
interface StoredProfile {
  readonly settings: Omit<FolderProfile, "folderId" | "path" | "env" | "updatedAt">;
  readonly env: Readonly<Record<string, string>>;
}

/** Makes a profile from the current one. */
export type ReviseProfile = (current: StoredProfile) => StoredProfile;

/** The store, opened by this process, with or without a running gateway. */
export interface CliStores {
  readonly folders: {
    add(
      path: string,
      scopes: readonly FolderScope[],
      options?: { readonly worktreeName?: string | undefined },
    ): Promise<Folder>;
    list(): Promise<readonly Folder[]>;
    remove(path: string): Promise<Folder>;
  };
  readonly profiles: {
    /** @throws PosternError `folder_not_found`, as do the others */
    read(path: string): Promise<FolderProfile>;
    /** @throws PosternError `invalid_request` | `agent_unknown` */
    change(path: string, revise: ReviseProfile): Promise<FolderProfile>;
    proposals(path: string): Promise<readonly ProfileProposal[]>;
    /** @throws PosternError `proposal_changed` | `invalid_request` */
    approve(path: string, request: { readonly repository: string; readonly hash: string }): Promise<ProfileProposal>;
  };
  readonly tokens: {
    create(request: NewToken): Promise<{ readonly token: string; readonly record: Token }>;
    list(): Promise<readonly Token[]>;
    revoke(tokenId: string): Promise<void>;
  };
  readonly browsers: {
    /**
     * @param baseUrl null for the configured address
     * @param account name or ID; null for the owner
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
    /** One agent with its program at `binary`; null looks it up on PATH. */
    locate(name: string, binary: string | null): Promise<KnownAgent>;
    /** Whether this version of the agent is too old, or newer than the tests; null if it is supported or unknown. */
    versionNotice(name: string, version: string | null): VersionNotice | null;
    /** The environment of its installation. */
    installEnvironment(name: string): Environment;
    /** The command that logs it in. */
    logIn(name: string, binary: string): { readonly argv: readonly [string, ...string[]]; readonly env: Environment };
    /** Configures all agents and the default, or none. A null `binary` is looked up on PATH at each start. */
    configure(
      choices: readonly { readonly name: string; readonly binary: string | null }[],
      defaultAgent: string | null,
    ): Promise<void>;
  };
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** The problem of an agent's version: it is too old, or newer than the tests. */
export interface VersionNotice {
  readonly kind: "too_old" | "untested";
  readonly message: string;
  /** The command that fixes it, or null. */
  readonly fix: string | null;
}

/** An agent, for setup. */
export interface KnownAgent {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Its product name. */
  readonly title: string;
  readonly isConfigured: boolean;
  readonly isDefault: boolean;
  /** Absolute; null when not found. */
  readonly binary: string | null;
  readonly version: string | null;
  readonly login: AgentEntry["login"];
  readonly npmPackage: string | null;
  /** Installs it; null if it is not on npm. */
  readonly installCommand: readonly [string, ...string[]] | null;
  /** Ways to log in; empty for an agent without a login. */
  readonly loginMethods: readonly string[];
  /** The API key variable that is set; null when none is. */
  readonly keyVariable: string | null;
}

/** A personal token to create for the owner. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Epoch milliseconds; null for a token that never expires. */
  readonly expiresAt: number | null;
  /** Limits it to these absolute paths; null for no limit. */
  readonly folders: readonly string[] | null;
}

/** The gateway as a user service. */
export interface CliService {
  /** The version of this command and of the gateway that the service starts. */
  readonly version: string;
  /** The service file and its content. */
  readonly path: string;
  readonly text: string;
  /** Environment of the service (0600), read at each start. */
  readonly environmentFile: string;
  /** @throws PosternError `service_manager_missing` */
  requireManager(): Promise<void>;
  /** Saves the agents' API keys of this environment to the environment file. @returns the variables */
  keepKeys(): Promise<readonly string[]>;
  /**
   * @param options `restart`: restarts a running service even if its file is up to date
   * @throws PosternError `service_manager_missing` | `service_failed`
   */
  install(options: {
    readonly restart: boolean;
  }): Promise<{ readonly changed: boolean; readonly hints: readonly string[] }>;
  uninstall(): Promise<{ readonly removed: boolean }>;
  /** Stops the running service. @returns the command that did it @throws PosternError `service_failed` */
  stop(): Promise<string>;
  status(): Promise<{
    readonly manager: "systemd" | "launchd";
    readonly path: string;
    readonly installed: boolean;
    readonly enabled: boolean;
    readonly running: boolean;
    readonly pid: number | null;
  }>;
}

/** The processes that run for a state folder. */
export interface MachineState {
  /** The state folder. */
  readonly home: string;
  /** Path of the database, or `PostgreSQL`. */
  readonly database: string;
  readonly gateway: {
    readonly pid: number;
    readonly version: string;
    readonly startedAt: string;
    readonly baseUrl: string;
    readonly addresses: readonly string[];
  } | null;
  readonly terminalHost:
    | { readonly pid: number; readonly version: string; readonly liveTerminals: number }
    | { readonly problem: string }
    | null;
  readonly memory: { readonly gatewayBytes: number; readonly hostBytes: number; readonly agentsBytes: number };
}

/** `service`: the service manager's command; null when the gateway was signaled. */
export interface StoppedGateway {
  readonly pid: number;
  readonly service: string | null;
}

/** A part of Postern on this machine. */
export interface InstalledPart {
  readonly name: "gateway" | "service" | "agent files" | "cache" | "state" | "command";
  /** What it is, for a question: "the cache (/home/anna/.cache/postern)". */
  readonly what: string;
  /** @returns what could not be removed; null if everything was */
  remove(): Promise<string | null>;
}

export interface BackupOptions {
  /** Absolute. */
  readonly file: string;
  readonly withKey: boolean;
  readonly withRecordings: boolean;
  readonly progress: (step: string) => void;
}

export interface RestoreOptions {
  /** Absolute. */
  readonly file: string;
  readonly replace: boolean;
  readonly replay: boolean;
  readonly progress: (step: string) => void;
}

/** Dependencies of the commands, passed in by `main.ts`. */
export interface CliPorts {
  /** @throws PosternError for an invalid configuration or a port in use */
  startGateway(overrides: GatewayOverrides): Promise<RunningGateway>;
  /**
   * Checks whether a gateway would start with these settings.
   * @throws PosternError `invalid_configuration` | `unsafe_configuration`
   */
  checkSettings(overrides: GatewayOverrides): Promise<{ readonly baseUrl: string }>;
  openStores(): Promise<CliStores>;
  /** @throws PosternError `backup_exists` | `store_unavailable` | `store_newer` */
  backUp(options: BackupOptions): Promise<MadeBackup>;
  /** @throws PosternError see `restoreBackup` */
  restore(options: RestoreOptions): Promise<RestoredBackup>;
  /** The gateway's Unix socket for the owner. */
  socketPath(): Promise<string>;
  /** Runs all checks. `smoke` starts each agent once. */
  diagnose(options: { readonly smoke: boolean }): Promise<readonly Finding[]>;
  /** Starts nothing, and does not need the gateway to respond. */
  machine(): Promise<MachineState>;
  /** Resolves when its process has ended, within 20 s. @throws PosternError `gateway_not_running` | `internal_error` */
  stopGateway(): Promise<StoppedGateway>;
  /** Everything that `postern uninstall` can remove, in the order to do so. Changes nothing. */
  installedParts(): Promise<readonly InstalledPart[]>;
  /** Ends all programs in terminals, then the terminal host. @returns false when it still runs after ten seconds */
  endTerminals(): Promise<boolean>;
  /** @throws PosternError `service_manager_missing` on an unsupported system */
  service(): Promise<CliService>;
  /**
   * Runs a program in this terminal until it exits, with its output on standard error. Ctrl-C ends the program only.
   * @returns its exit code; null after a failed start or a signal
   */
  runProgram(argv: readonly [string, ...string[]], env: Environment): Promise<number | null>;
  /** `POSTERN_TOKEN`; null when not set. */
  token(): Promise<string | null>;
}

/** The environment of one run. */
export interface CliContext {
  readonly ports: CliPorts;
  readonly stdout: (text: string) => void;
  /** Resolves when the reader has received the output, except for a pipe's buffer. */
  readonly stdoutTaken: () => Promise<void>;
  readonly stderr: (text: string) => void;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Width of the terminal on standard output; null when it is not a terminal. */
  readonly columns: number | null;
  /** Whether input and output are terminals. */
  readonly interactive: boolean;
  /** The terminal of input and output; null when they are not. */
  readonly terminal: () => UserTerminal | null;
  readonly cwd: string;
  readonly clock: Clock;
}
