import type { Activity, PendingPermission, PermissionMode } from "../wire/coding.ts";
import type { ScreenDialog } from "./screen-dialog.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string>>;

/** What a session's start or resume asks of a template. */
export interface LaunchRequest {
  readonly kind: "start" | "resume";
  /** The agent's own id to resume, or the UUID for a new session (with the `assigned` regime the agent takes it). */
  readonly sessionId: string;
  /** Real path of the working directory. */
  readonly dir: string;
  /** Goes into argv; null starts the agent without a prompt. Long prompts are pasted by the caller instead. */
  readonly prompt: string | null;
  readonly model: string | null;
  readonly systemPrompt: string | null;
  readonly permissionMode: PermissionMode;
  /** Absolute path of the agent's binary. */
  readonly binary: string;
  /** The environment the agent will get, `POSTERN_*` removed, hook variables added by the caller. */
  readonly env: Environment;
  /** A folder of this launch (0700) for settings files (0600) that must not travel in argv. */
  readonly launchDir: string;
  /** The fixed hook command, for templates that have hooks. */
  readonly hookCommand: string;
  /** How long that command may take when a permission is asked for: it waits for the decision. */
  readonly permissionTimeoutMs: number;
  /** Whether the owner trusts `dir` (registered with `coding`, or named in permissive mode): first-run trust dialogs may be pre-empted. */
  readonly trustDir: boolean;
}

/** What the terminal host has to run. */
export interface LaunchPlan {
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment. */
  readonly env: Environment;
}

/** One hook line, read in the agent's own form; everything in it is a claim of a process that runs as the same user. */
export type HookEvent =
  | { readonly kind: "session_start"; readonly reason: string }
  /** Also for what an agent tells itself, such as the end of a background task. */
  | { readonly kind: "prompt_submitted"; readonly prompt: string }
  | { readonly kind: "tool_started"; readonly tool: string }
  | ({ readonly kind: "tool_ended" } & ToolCall)
  /** `asks` says what the person is to give: leave for a tool, the answer to a question, or the approval of a plan. */
  | ({ readonly kind: "permission_asked"; readonly asks: PendingPermission["kind"] } & ToolCall)
  /** `inBackground`: sub-agents go on, and the agent with them; it takes a prompt nevertheless. */
  | { readonly kind: "turn_ended"; readonly inBackground?: boolean }
  /** `needs` says what has to happen before another turn can succeed, where the agent tells. */
  | { readonly kind: "turn_failed"; readonly message: string; readonly needs?: "login" | "limit_reset" }
  | { readonly kind: "session_end"; readonly reason: string };

/** A tool call, as the question about it and as its end tell it. */
export interface ToolCall {
  readonly tool: string;
  /** Long strings are cut. Differs in details between the question and the end (measured): compare `callKey`. */
  readonly input: unknown;
  /** The same for the question and the end of one call; calls with equal input share it. */
  readonly callKey: string;
  /**
   * The sub-agent that calls, null for the session itself. A sub-agent's question stays open when the session's turn ends
   * (measured): only the end of its call, or the agent's own state, says that it was answered.
   */
  readonly subagent: string | null;
}

/** A parsed hook line with the claims that must be checked against the session before they count. */
export interface HookClaim {
  readonly event: HookEvent;
  readonly agentSessionId: string;
  readonly transcriptPath: string | null;
  readonly cwd: string | null;
}

/** How a live TUI takes text that is pasted into it. */
export interface PasteHabits {
  readonly bracketed: boolean;
  readonly enterDelayMs: number;
  /**
   * Follows the text, and is dropped by the agent: keeps Enter from being taken by what the text ends with (measured: a last `\\`
   * makes it a new line in Claude Code, a last `@word` or `$word` picks from a list in Codex).
   */
  readonly suffix: string;
  /** Whether this text, pasted, reaches the model byte for byte; other text goes through the external editor. */
  isExact(text: string): boolean;
  /** The key that opens the composer's text in `$VISUAL`; null when there is none. */
  readonly editorKey: string | null;
}

/** Something around an agent that its user can fix. */
export interface AgentProblem {
  /** One sentence. Parts of it may be the agent's own words. */
  readonly message: string;
  /** The command that fixes it; null when there is no single one. */
  readonly fix: string | null;
}

/** A terminal's screen, as a composer is read from it. */
export interface ComposerScreen {
  readonly lines: readonly string[];
  /** The same lines with a blank for each faint cell: agents paint hints and suggestions faint. Null from a host that does not tell. */
  readonly bright: readonly string[] | null;
}

/** The part of the screen that is typed into. */
export interface Composer {
  /** What it holds, without hints; null where no composer is painted, or the screen does not tell. */
  text(screen: ComposerScreen): string | null;
  /** The keys that empty it of this text, wherever the cursor is in it. */
  clearKeys(text: string): string;
  /** The one word that a long paste is shown as, at the end of the text. */
  readonly pastedWord: RegExp;
  /** Whether Enter may become a new line: then what was typed is looked for before Enter, and whether it has gone after it. */
  readonly mayHoldEnter: boolean;
  /** Whether a prompt comes back into it when it is stopped before it was answered (Claude Code, measured). */
  readonly getsPromptBack: boolean;
}

/** Whether the agent can reach its vendor. */
export type LoginState = "logged_in" | "logged_out" | "key_variable" | "unknown";

/** What an agent says of itself; `needs_…` is a dialog that is open. */
export type ObservedActivity = Extract<Activity, "working" | "idle" | "needs_permission" | "needs_answer">;

/** What an agent's state file says. */
export interface ObservedState {
  readonly activity: ObservedActivity;
  /** When it became so, epoch milliseconds; null where the file does not tell. */
  readonly since: number | null;
  /** Whether a hook tells the same at about this time, and more. */
  readonly hooked: boolean;
}

/** A live process that runs a session, by the agent's own files. */
export interface ExternalHolder {
  readonly pid: number;
  /** Null where the agent keeps no file that tells. */
  readonly activity: ObservedActivity | null;
}

/** Where transcripts lie, as data that can be sent to a process. */
export interface TranscriptPlace {
  /** Absolute. */
  readonly root: string;
  /**
   * The names of the folders from the root down and, last, of the file; one of them holds the session's id in a group named `id`.
   * What does not match is no transcript of a session.
   */
  readonly names: readonly [RegExp, ...RegExp[]];
  /** A group `beginning` holds only the beginning of the id: all of it is `sessionId` in the file's first line. */
  readonly idInFirstLine?: boolean;
  /** The last name is that of a session in a database, which the last but one names. */
  readonly inDatabase?: boolean;
}

/**
 * Everything Postern knows of one agent. A new agent is a new template; nothing outside its template knows an agent's flags,
 * files or dialogs.
 */
export interface AgentTemplate {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly displayName: string;
  /** Looked up on PATH; also the npm package that brings it, for messages. */
  readonly binaryName: string;
  readonly npmPackage: string | null;
  /** The vendor's API key variables of this agent: kept for it, removed for all others. */
  readonly keyVariables: readonly string[];
  /**
   * Variables that this agent sets for its children, by name or as a prefix that ends in `*`: a gateway that was itself started
   * from inside an agent must not pass them on, or the new agent takes itself for a nested one.
   */
  readonly nestingVariables: readonly string[];
  /** `assigned`: the agent takes the gateway's UUID. `discovered`: it picks its own, learned by hook or lock file. */
  readonly idRegime: "assigned" | "discovered";
  /** A name in `transcript-formats.ts`; null for an agent without transcripts. */
  readonly transcriptFormat: string | null;
  /** Whether the agent reports by hooks; without them readiness and activity come from screen and transcript. */
  readonly hasHooks: boolean;
  /** What tells that a live prompt will be taken: the SessionStart hook, or the composer on the screen. */
  readonly readyBy: "session_start" | "composer";
  /** First characters that make a prompt a command of this agent, such as `!` and `/`. */
  readonly commandPrefixes: readonly string[];
  /** Whole prompts that are commands of this agent, such as `exit`. */
  readonly commandWords: readonly string[];
  /** Whether `@path` in a prompt makes the agent read that file into it, without asking. */
  readonly readsMentions: boolean;
  /** Capabilities of a start; a request that needs a missing one is refused, never dropped in silence. */
  readonly accepts: {
    readonly model: boolean;
    /** `argument`: on the command line, where other users can read it. */
    readonly systemPrompt: "file" | "argument" | false;
    /** A prompt on the command line; without it the first one is typed, like all others. */
    readonly prompt: boolean;
  };
  /** How a prompt reaches the live TUI. */
  readonly paste: PasteHabits;
  /** The keys that stop the running turn and keep the session. */
  readonly interruptKeys: string;

  /** Pre-empts dialogs (on the agent's disk, as little as needed) and gives argv and environment. */
  plan(request: LaunchRequest): Promise<LaunchPlan>;
  /** Reads one hook payload (JSON text); null for one that says nothing. Never throws. */
  parseHook(payload: string): HookClaim | null;
  /** Whether the visible screen shows the painted composer: ready for a paste. Readiness only, never activity. */
  composerPainted(lines: readonly string[]): boolean;
  /**
   * Whether the visible screen says that the agent still starts, and asks a person for nothing. Missing where the screen is empty until the
   * composer is painted, or its last line ends in an ellipsis meanwhile.
   */
  readonly isStarting?: (lines: readonly string[]) => boolean;
  /** The dialog on the visible screen, when it is one that this template knows with its choices. Missing where it knows none. */
  readonly readDialog?: (lines: readonly string[]) => ScreenDialog | null;
  /**
   * For an agent that was seen to hang at its start, before it painted anything: whether this process, whose screen has been empty for a
   * minute and a half, stands where no slow start would. It is ended then, and otherwise after five minutes. Missing where that was not seen.
   */
  readonly hasHung?: (process: { readonly pid: number; readonly env: Environment }) => boolean;
  /** What is in the composer, and how to empty it. Missing where that is not known: then nothing but the time tells. */
  readonly composer?: Composer;
  /**
   * For an agent that tells its state in the window title: what this title says, null for words of another kind. An agent that has this
   * is typed into only while its title says that it is idle. Missing where the title tells nothing.
   */
  readonly readTitle?: (title: string) => ObservedActivity | null;
  /** For an agent without hooks that tell when its process goes on with another session. Missing where hooks do, or nothing does. */
  readonly moves?: {
    /** The file that changes whenever it may have, by the session's transcript. */
    watched(transcriptPath: string): string;
    /** The session that the process runs now; `soon` while its files have yet to tell; null when they tell of none. */
    movedTo(process: {
      readonly pid: number;
      readonly transcriptPath: string;
    }): Promise<{ readonly sessionId: string } | "soon" | null>;
  };
  /** The folders under which this agent's transcripts lie, given its environment. */
  transcriptRoots(env: Environment): readonly string[];
  /** The same, with the names of folders and files: what {@link findTranscript} would find for any id. */
  transcriptPlaces(env: Environment): readonly TranscriptPlace[];
  /** Finds the transcript of this id by file name; never by age. */
  findTranscript(agentSessionId: string, env: Environment): Promise<string | null>;
  /** Whether the agent can resume from this transcript. Missing for an agent that can resume from any. */
  readonly canResume?: (transcriptPath: string) => Promise<boolean>;
  /** For `discovered`: the id of the session that process `pid` (or a child of it) runs, from lock or state files; null when not told. */
  discoverSessionId(process: { readonly pid: number; readonly env: Environment }): Promise<string | null>;
  /** Another live process that runs this session, if the agent's own files tell. */
  externalHolder(agentSessionId: string, env: Environment): Promise<ExternalHolder | null>;
  /**
   * All sessions that some live process runs, this gateway's among them, by the agent's own id: one look at its files. For lists, which
   * call it often: an answer may be a quarter of a second old, but names no process that has ended.
   */
  externalSessions(env: Environment): Promise<ReadonlyMap<string, ExternalHolder>>;
  /** The agent's own word on what it is doing, from its state file; null when it says nothing. */
  liveState(
    agentSessionId: string,
    process: { readonly pid: number; readonly env: Environment },
  ): Promise<ObservedState | null>;
  /** The file that {@link liveState} reads, to be watched; null for an agent that keeps none. Then its transcript tells when turns begin and end. */
  liveStatePath(process: { readonly pid: number; readonly env: Environment }): string | null;
  /** Added to the environment when the program is only asked for its version. Missing where nothing is needed. */
  readonly probeEnv?: Environment;
  loginState(binary: string, env: Environment): Promise<LoginState>;
  /** Why the agent's own sandbox does not work here, null when it does. Missing for an agent without one. */
  readonly checkSandbox?: (binary: string, env: Environment) => Promise<AgentProblem | null>;
  /** Arguments of the agent's interactive log-in. */
  readonly loginArgs: readonly string[];
  /** The same for a log-in with a code that is given in any browser, on any machine; missing where the agent has none. */
  readonly codeLoginArgs?: readonly string[];
}
