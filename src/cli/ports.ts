import type { MadeBackup, RestoredBackup } from "../backup/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Folder, FolderScope, Scope, Token } from "../wire/access.ts";
import type { AccountRecord, AddAccountInput, AddedAccount } from "../wire/accounts.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";
import type { AddClientInput, AddedClient, OAuthClient } from "../wire/oauth.ts";
import type { BrowserSession, SignInLink } from "../wire/sign-in.ts";
import type { UserTerminal } from "./attach/user-terminal.ts";

/** What `serve` may set; the configuration decides the rest. */
export interface GatewayOverrides {
  readonly host?: string;
  readonly port?: number;
  readonly baseUrl?: string;
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
  /** Stops listening and lets go of the terminal host: agents live on. */
  close(): Promise<void>;
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
    /** Makes a found agent a configured one. A null `binary` is looked up on PATH at each start. */
    configure(name: string, options: { readonly binary: string | null }): Promise<void>;
    setDefault(name: string): Promise<void>;
  };
  close(): Promise<void>;
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
  openStores(): Promise<CliStores>;
  /** @throws PosternError `backup_exists` | `store_unavailable` | `store_newer` */
  backUp(options: BackupOptions): Promise<MadeBackup>;
  /** @throws PosternError see `restoreBackup` */
  restore(options: RestoreOptions): Promise<RestoredBackup>;
  /** Path of the Unix socket on which the gateway takes the owner's requests. */
  socketPath(): Promise<string>;
  /** `POSTERN_TOKEN`; null when it is not set. */
  token(): Promise<string | null>;
}

/** The world around one run of the command. */
export interface CliContext {
  readonly ports: CliPorts;
  readonly stdout: (text: string) => void;
  /** Resolves when whoever reads it has taken what was written, but for what a pipe holds. */
  readonly stdoutTaken: () => Promise<void>;
  readonly stderr: (text: string) => void;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Whether a person sits at both ends. */
  readonly interactive: boolean;
  /** The terminal at both ends; null when there is none. */
  readonly terminal: () => UserTerminal | null;
  readonly cwd: string;
  readonly clock: Clock;
}
