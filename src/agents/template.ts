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
  /** Passed in argv; null starts the agent without a prompt. Long prompts are not passed here: the caller pastes them. */
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
  /** Whether the owner trusts `dir` (registered with `coding`, or requested in permissive mode): trust dialogs may then be answered in advance. */
  readonly trustDir: boolean;
}

/** What the terminal host spawns. */
export interface LaunchPlan {
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment. */
  readonly env: Environment;
}

/** What a hook line reports. Everything in it is a claim, since any process of the same user can write it. */
export type HookEvent =
  | { readonly kind: "session_start"; readonly reason: string }
  /** Also reported for messages that the agent sends to itself, such as the end of a background task. */
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
  /** `inBackground`: sub-agents continue, and so does the agent, but it accepts a prompt. */
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
   * Appended to the text, and dropped by the agent. Keeps Enter from acting on the end of the text: after a final `\\`, Enter is a line break in
   * Claude Code; after a final `@word` or `$word`, it selects from a list in Codex (measured).
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

/** How files are passed to the agent with a prompt. */
interface AttachmentHabits {
  /** The line of the prompt that mentions a file. If missing, the prompt has a sentence with the path, and the agent reads the file. */
  lineFor?(path: string): string;
  /** For files that are not mentioned in the text, but pasted as a path, or passed as an argument at the start. */
  readonly beside?: {
    takes(file: AttachedFile): boolean;
    /** What the composer shows for the nth of these files, counted from 1. */
    placeholder(nth: number): string;
  };
}

/** A problem with an agent or its environment that the user can fix. */
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
  /** The composer's text without hints; null if no composer is painted, or the screen does not show its text. */
  text(screen: ComposerScreen): string | null;
  /** The keys that remove this text, wherever the cursor is. */
  clearKeys(text: string): string;
  /** The placeholder of a long paste, at the end of the text. */
  readonly pastedWord: RegExp;
  /** Whether Enter can become a line break. If so, the text is checked before and after Enter. */
  readonly mayHoldEnter: boolean;
  /** Whether a prompt returns to the composer if its turn is stopped before any answer (Claude Code, measured). */
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
  /** Patterns for the names of the folders below the root and, last, of the file; one has a group `id`. Other files are not transcripts. */
  readonly names: readonly [RegExp, ...RegExp[]];
  /** Whether a group `beginning` matches only the start of the id, and the whole id is `sessionId` in the first line. */
  readonly idInFirstLine?: boolean;
  /** Whether the last pattern matches the id of a session in a database, whose file name the pattern before it matches. */
  readonly inDatabase?: boolean;
}

/** An agent's versions on npm. */
export interface AgentReleases {
  readonly npmPackage: string;
  /** The oldest version that passes the contract tests, as all later versions do. Older versions are refused. */
  readonly minimum: string;
  /** The newest version that passed the contract tests. For newer versions, a warning is shown. */
  readonly newestTested: string;
  /** The command that people run to update the agent. */
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
   * Variables that this agent sets for its children: names, or prefixes that end in `*`. A gateway that was started inside an agent must
   * not pass them on, or the new agent behaves as a nested one.
   */
  readonly nestingVariables: readonly string[];
  /** `assigned`: the agent accepts a UUID from the gateway. `discovered`: it chooses its own id, which a hook or lock file shows. */
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
  /** The text that mentions a file or folder, by its path in the working directory. Missing for an agent that accepts plain paths. */
  readonly mention?: (path: string) => string;
  /** The commands that the agent's composer completes. Missing if unknown. */
  readonly commands?: AgentCommands;
  /** Options of a start; a request with an unsupported one is refused. */
  readonly accepts: {
    readonly model: boolean;
    /** `argument`: on the command line, where other users can read it. */
    readonly systemPrompt: "file" | "argument" | false;
    /** Whether a prompt can be passed on the command line; if not, the first prompt is typed like all others. */
    readonly prompt: boolean;
  };
  readonly paste: PasteHabits;
  /** If missing, the prompt contains the paths of its files. */
  readonly attachments?: AttachmentHabits;
  /** The keys that stop the turn and keep the session. */
  readonly interruptKeys: string;
  /** The keys that end the agent when they are typed into its empty composer, with a pause before each. Missing if only signals end it. */
  readonly exitKeys?: readonly [string, ...string[]];

  /** Answers dialogs in advance, with as few changes on disk as possible, and returns argv and environment. */
  plan(request: LaunchRequest): Promise<LaunchPlan>;
  /**
   * What a tool call would do, for standing rules; null if that is not certain, such as for a field that is not known. Missing if no rule
   * may answer the agent's permission requests.
   */
  readonly toolAction?: (call: Pick<ToolCall, "tool" | "input">) => ToolAction | null;
  /** Parses a hook payload (JSON); null if it is invalid or has no meaning. Never throws. */
  parseHook(payload: string): HookClaim | null;
  /** Whether the screen shows a composer that is ready for a paste, even if the agent is not idle. */
  composerPainted(lines: readonly string[]): boolean;
  /**
   * Whether the screen shows that the agent is starting, and not waiting for a user. Missing if the screen is empty until the composer is painted,
   * or if its last line then ends in an ellipsis.
   */
  readonly isStarting?: (lines: readonly string[]) => boolean;
  /** The known dialog on the screen, or null. */
  readonly readDialog?: (lines: readonly string[]) => ScreenDialog | null;
  /**
   * For an agent that can hang at its start before it paints anything: whether this process, whose screen has been empty for 90 s, hangs
   * and is not just slow to start. If so, it is ended immediately, otherwise after five minutes.
   */
  readonly hasHung?: (process: { readonly pid: number; readonly env: Environment }) => boolean;
  /** Missing if the composer cannot be read; delivery then relies on timing. */
  readonly composer?: Composer;
  /** The state that a window title shows; null for any other title. If an agent has this, input is sent only while the title shows idle. */
  readonly readTitle?: (title: string) => ObservedActivity | null;
  /** How a switch to another session is noticed, for an agent whose hooks do not report it. */
  readonly moves?: {
    /** The file that changes when the process with this transcript switches to another session. */
    watched(transcriptPath: string): string;
    /** The process's current session; `soon` while its files are incomplete; null if unknown. */
    movedTo(process: {
      readonly pid: number;
      readonly transcriptPath: string;
    }): Promise<{ readonly sessionId: string } | "soon" | null>;
  };
  /** The folders with this agent's transcripts. */
  transcriptRoots(env: Environment): readonly string[];
  /** The same folders with patterns for names below them; together they match every file that {@link findTranscript} can return. */
  transcriptPlaces(env: Environment): readonly TranscriptPlace[];
  /** Finds the transcript by file name, never by age. */
  findTranscript(agentSessionId: string, env: Environment): Promise<string | null>;
  /** Whether the agent can resume from this transcript. Missing if it always can. */
  readonly canResume?: (transcriptPath: string) => Promise<boolean>;
  /** For `discovered`: the id of the session that `pid` or a child process runs, from lock or state files; null if unknown. */
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
  /** The file that {@link liveState} reads, for watching it. Null if there is none; turns then come from the transcript. */
  liveStatePath(process: { readonly pid: number; readonly env: Environment }): string | null;
  /** Added to the environment of the command that prints the version. */
  readonly probeEnv?: Environment;
  loginState(binary: string, env: Environment): Promise<LoginState>;
  /** Why the agent's sandbox does not work here, or null. Missing for an agent without one. */
  readonly checkSandbox?: (binary: string, env: Environment) => Promise<AgentProblem | null>;
  /** Files that Postern made in the agent's own folder, absolute: an uninstall removes them. */
  readonly ownFiles?: (env: Environment) => Promise<readonly string[]>;
  /** Arguments of the interactive login. */
  readonly loginArgs: readonly string[];
  /** The same for a login with a code that can be entered in any browser. */
  readonly codeLoginArgs?: readonly string[];
}
