import type { Activity, PendingPermission, PermissionMode } from "../wire/coding.ts";
import type { ToolAction } from "../wire/permission-rules.ts";
import type { AgentCommands } from "./command-files.ts";
import type { ScreenDialog } from "./screen-dialog.ts";

export type Environment = Readonly<Record<string, string>>;

/** A request to start or resume a session. */
export interface LaunchRequest {
  readonly kind: "start" | "resume";
  /** The agent's own id to resume, or a UUID for a new session (used by agents with the `assigned` regime). */
  readonly sessionId: string;
  /** Real path of the working directory. */
  readonly dir: string;
  /** Goes into argv; null starts the agent without a prompt. The caller pastes long prompts instead. */
  readonly prompt: string | null;
  /** Paths of the prompt's files that are not named in its text; missing if there are none. See {@link AttachmentHabits}. */
  readonly files?: readonly string[];
  readonly model: string | null;
  readonly systemPrompt: string | null;
  readonly permissionMode: PermissionMode;
  /** Absolute path. */
  readonly binary: string;
  /** The agent's environment, without `POSTERN_*` but with the hook variables. */
  readonly env: Environment;
  /** A folder (0700) for this launch's settings files (0600), which must not be in argv. */
  readonly launchDir: string;
  readonly hookCommand: string;
  /** How long the hook may wait for the decision on a permission. */
  readonly permissionTimeoutMs: number;
  /** Whether the owner trusts `dir` (registered with `coding`, or named in permissive mode): trust dialogs may be pre-empted. */
  readonly trustDir: boolean;
}

/** What the terminal host spawns. */
export interface LaunchPlan {
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment. */
  readonly env: Environment;
}

/** A hook line. Everything in it is a claim by a process of the same user. */
export type HookEvent =
  | { readonly kind: "session_start"; readonly reason: string }
  /** Also for messages that the agent sends itself, such as the end of a background task. */
  | { readonly kind: "prompt_submitted"; readonly prompt: string }
  | { readonly kind: "tool_started"; readonly tool: string }
  | ({ readonly kind: "tool_ended" } & ToolCall)
  /** `asks`: permission for a tool, the answer to a question, or approval of a plan. */
  /** `cwd`: where the call happens. */
  | ({
      readonly kind: "permission_asked";
      readonly asks: PendingPermission["kind"];
      readonly cwd?: string | null | undefined;
    } & ToolCall)
  /** `inBackground`: sub-agents and the agent continue, but it accepts a prompt. */
  | { readonly kind: "turn_ended"; readonly inBackground?: boolean }
  /** `needs`: what has to happen before another turn can succeed, if known. */
  | { readonly kind: "turn_failed"; readonly message: string; readonly needs?: "login" | "limit_reset" }
  | { readonly kind: "session_end"; readonly reason: string };

/** A tool call, as in the permission request and at its end. */
export interface ToolCall {
  readonly tool: string;
  /** Long strings are cut. Details differ between the request and the end (measured): compare `callKey`. */
  readonly input: unknown;
  /** Equal for the request and the end of a call; calls with equal input share it. */
  readonly callKey: string;
  /**
   * The calling sub-agent; null for the session itself. A sub-agent's request stays open when the session's turn ends (measured): only the
   * end of its call, or the agent's state, shows that it was answered.
   */
  readonly subagent: string | null;
}

/** A parsed hook line, to be checked against the session. */
export interface HookClaim {
  readonly event: HookEvent;
  readonly agentSessionId: string;
  readonly transcriptPath: string | null;
  readonly cwd: string | null;
}

/** How the terminal accepts pasted text. */
interface PasteHabits {
  readonly bracketed: boolean;
  readonly enterDelayMs: number;
  /**
   * Appended to the text, and dropped by the agent. Keeps Enter from acting on the end of the text: a last `\\` makes it a line break in
   * Claude Code, a last `@word` or `$word` picks from a list in Codex (measured).
   */
  readonly suffix: string;
  /** Whether this text reaches the model unchanged when pasted; otherwise the external editor is used. */
  isExact(text: string): boolean;
  /** The key that opens the composer's text in `$VISUAL`, or null. */
  readonly editorKey: string | null;
}

/** A file for a prompt. */
export interface AttachedFile {
  /** Absolute. */
  readonly path: string;
  readonly isImage: boolean;
}

/** How the agent takes files with a prompt. */
interface AttachmentHabits {
  /** The prompt's line that names a file. Missing: a sentence with the path, for the agent to read. */
  lineFor?(path: string): string;
  /** Files that are pasted as a path, or given as an argument of the start, and not named in the text. */
  readonly beside?: {
    takes(file: AttachedFile): boolean;
    /** What the composer shows for the nth of them, from 1. */
    placeholder(nth: number): string;
  };
}

/** A problem around an agent that its user can fix. */
export interface AgentProblem {
  /** One sentence, which may quote the agent. */
  readonly message: string;
  /** The command that fixes it, or null. */
  readonly fix: string | null;
}

interface ComposerScreen {
  readonly lines: readonly string[];
  /** The same lines with faint cells blanked: agents paint hints faint. Null if the host does not report it. */
  readonly bright: readonly string[] | null;
}

/** The agent's input area. */
interface Composer {
  /** Its text without hints; null if no composer is painted, or the screen does not show it. */
  text(screen: ComposerScreen): string | null;
  /** The keys that remove this text, wherever the cursor is. */
  clearKeys(text: string): string;
  /** The placeholder of a long paste, at the end of the text. */
  readonly pastedWord: RegExp;
  /** Whether Enter can become a line break: then the text is checked before and after Enter. */
  readonly mayHoldEnter: boolean;
  /** Whether a prompt returns to it when it is stopped before any answer (Claude Code, measured). */
  readonly getsPromptBack: boolean;
}

/** Whether the agent can reach its vendor. */
export type LoginState = "logged_in" | "logged_out" | "key_variable" | "unknown";

/** The agent's own state; `needs_…` is an open dialog. */
export type ObservedActivity = Extract<Activity, "working" | "idle" | "needs_permission" | "needs_answer">;

/** The content of an agent's state file. */
export interface ObservedState {
  readonly activity: ObservedActivity;
  /** Epoch milliseconds; null if the file does not have it. */
  readonly since: number | null;
  /** Whether a hook reports the same, with more detail. */
  readonly hooked: boolean;
  /** Whether a command runs in the background; missing if the agent does not report that. */
  readonly inBackground?: boolean;
}

/** A live process that runs a session, according to the agent's files. */
export interface ExternalHolder {
  readonly pid: number;
  /** Null if the agent has no state file. */
  readonly activity: ObservedActivity | null;
}

/** Where transcripts are, as data that can be sent to a process. */
export interface TranscriptPlace {
  /** Absolute. */
  readonly root: string;
  /** The names of the folders below the root and, last, of the file; one has a group `id`. Other files are not transcripts. */
  readonly names: readonly [RegExp, ...RegExp[]];
  /** A group `beginning` has only the start of the id: the rest is in `sessionId` of the first line. */
  readonly idInFirstLine?: boolean;
  /** The last name is a session in the database that the previous one names. */
  readonly inDatabase?: boolean;
}

/** An agent's versions on npm. */
export interface AgentReleases {
  readonly npmPackage: string;
  /** The oldest version from which on the contract tests pass. Older ones are refused. */
  readonly minimum: string;
  /** The newest version that passed the contract tests. Newer ones get a warning. */
  readonly newestTested: string;
  /** For people to run. */
  readonly updateCommand: string;
}

/** Everything that Postern knows about one agent. No other code knows an agent's flags, files or dialogs. */
export interface AgentTemplate {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly displayName: string;
  /** Looked up on PATH. */
  readonly binaryName: string;
  /** Null for a custom agent. */
  readonly releases: AgentReleases | null;
  /** The vendor's API key variables: kept for this agent, removed for all others. */
  readonly keyVariables: readonly string[];
  /**
   * Variables that this agent sets for its children, by name or as a prefix ending in `*`. A gateway that was started inside an agent must
   * not pass them on, or the new agent behaves as a nested one.
   */
  readonly nestingVariables: readonly string[];
  /** `assigned`: the agent takes the gateway's UUID. `discovered`: it picks its own, found through a hook or lock file. */
  readonly idRegime: "assigned" | "discovered";
  /** A name in `transcript-formats.ts`; null without transcripts. */
  readonly transcriptFormat: string | null;
  /** Without hooks, readiness and activity come from the screen and the transcript. */
  readonly hasHooks: boolean;
  /** The signal that the agent accepts a prompt: the SessionStart hook, or the composer on the screen. */
  readonly readyBy: "session_start" | "composer";
  /** First characters that make a prompt a command, such as `!` and `/`. */
  readonly commandPrefixes: readonly string[];
  /** Whole prompts that are commands, such as `exit`. */
  readonly commandWords: readonly string[];
  /** Whether `@path` in a prompt includes that file without asking. */
  readonly readsMentions: boolean;
  /** The text that mentions a file or folder, by its path in the working directory. Missing for an agent that takes plain paths. */
  readonly mention?: (path: string) => string;
  /** What its composer completes. Missing if unknown. */
  readonly commands?: AgentCommands;
  /** Options of a start; a request with an unsupported one is refused. */
  readonly accepts: {
    readonly model: boolean;
    /** `argument`: on the command line, where other users can read it. */
    readonly systemPrompt: "file" | "argument" | false;
    /** A prompt on the command line; without it the first prompt is typed too. */
    readonly prompt: boolean;
  };
  readonly paste: PasteHabits;
  /** Missing: the prompt contains the paths of its files. */
  readonly attachments?: AttachmentHabits;
  /** The keys that stop the turn and keep the session. */
  readonly interruptKeys: string;
  /** What ends the agent when typed into its empty composer, each after a pause. Missing if it must be ended by signals. */
  readonly exitKeys?: readonly [string, ...string[]];

  /** Pre-empts dialogs, with as few changes on disk as possible, and returns argv and environment. */
  plan(request: LaunchRequest): Promise<LaunchPlan>;
  /**
   * What a tool call would do, for standing rules; null if that is not certain, such as for a field that is not known. Missing for an agent
   * whose permission requests no rule answers.
   */
  readonly toolAction?: (call: Pick<ToolCall, "tool" | "input">) => ToolAction | null;
  /** Parses a hook payload (JSON); null if it is invalid or has no meaning. Never throws. */
  parseHook(payload: string): HookClaim | null;
  /** Whether the screen shows the composer: ready for a paste, idle or not. */
  composerPainted(lines: readonly string[]): boolean;
  /**
   * Whether the screen shows that the agent is starting and waits for no one. Missing if the screen is empty until the composer is painted,
   * or its last line ends in an ellipsis.
   */
  readonly isStarting?: (lines: readonly string[]) => boolean;
  /** The known dialog on the screen, or null. */
  readonly readDialog?: (lines: readonly string[]) => ScreenDialog | null;
  /**
   * For an agent that can hang at its start before it paints anything: whether this process, whose screen has been empty for 90 s, hangs
   * rather than starts slowly. If so, it is ended now, otherwise after five minutes.
   */
  readonly hasHung?: (process: { readonly pid: number; readonly env: Environment }) => boolean;
  /** Missing if the composer cannot be read: then delivery relies on timing. */
  readonly composer?: Composer;
  /** The state that a window title shows; null for any other title. An agent with this gets input only while the title shows idle. */
  readonly readTitle?: (title: string) => ObservedActivity | null;
  /** For an agent without hooks that report a change of the session. */
  readonly moves?: {
    /** The file that changes with the session, for this transcript. */
    watched(transcriptPath: string): string;
    /** The process's current session; `soon` while its files are incomplete; null if unknown. */
    movedTo(process: {
      readonly pid: number;
      readonly transcriptPath: string;
    }): Promise<{ readonly sessionId: string } | "soon" | null>;
  };
  /** The folders with this agent's transcripts. */
  transcriptRoots(env: Environment): readonly string[];
  /** The same with the names of folders and files, matching {@link findTranscript} for any id. */
  transcriptPlaces(env: Environment): readonly TranscriptPlace[];
  /** Finds the transcript by file name, never by age. */
  findTranscript(agentSessionId: string, env: Environment): Promise<string | null>;
  /** Whether the agent can resume from this transcript. Missing if it always can. */
  readonly canResume?: (transcriptPath: string) => Promise<boolean>;
  /** For `discovered`: the id of the session of `pid` or a child, from lock or state files; null if unknown. */
  discoverSessionId(process: { readonly pid: number; readonly env: Environment }): Promise<string | null>;
  /** Another live process that runs this session, according to the agent's files. */
  externalHolder(agentSessionId: string, env: Environment): Promise<ExternalHolder | null>;
  /**
   * All sessions that live processes run, including this gateway's, by the agent's own id. For lists: cached for a quarter of a second, but
   * without processes that have exited.
   */
  externalSessions(env: Environment): Promise<ReadonlyMap<string, ExternalHolder>>;
  /** The state in the agent's state file; null if there is none. */
  liveState(
    agentSessionId: string,
    process: { readonly pid: number; readonly env: Environment },
  ): Promise<ObservedState | null>;
  /** The file behind {@link liveState}, to watch; null if there is none: then turns come from the transcript. */
  liveStatePath(process: { readonly pid: number; readonly env: Environment }): string | null;
  /** Added to the environment when asking for the version. */
  readonly probeEnv?: Environment;
  loginState(binary: string, env: Environment): Promise<LoginState>;
  /** Why the agent's sandbox does not work here, or null. Missing for an agent without one. */
  readonly checkSandbox?: (binary: string, env: Environment) => Promise<AgentProblem | null>;
  /** Files that Postern made in the agent's own folder, absolute: an uninstall removes them. */
  readonly ownFiles?: (env: Environment) => Promise<readonly string[]>;
  /** Arguments of the interactive login. */
  readonly loginArgs: readonly string[];
  /** The same for a login with a code from any browser. */
  readonly codeLoginArgs?: readonly string[];
}
