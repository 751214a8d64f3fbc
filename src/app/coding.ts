import type { Kysely } from "kysely";
import type { AgentTemplate, AttachedFile, Environment, RecordSetupJob } from "../agents/index.ts";
import { type AgentSetupJobs, createAgentSetupJobs } from "../agents/index.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { type Attachments, createAttachments, type StoredAttachment } from "../attachments/index.ts";
import type { CatalogPlace, CatalogSource } from "../catalog/index.ts";
import { createCatalog, createForgottenSessions } from "../catalog/index.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import type { Log } from "../core/log.ts";
import type { EventPublisher, ForgetInChats } from "../sessions/index.ts";
import {
  type AskOrder,
  type ChangedSession,
  type Changes,
  createAnswer,
  createAsk,
  createChanges,
  createClose,
  createCloseAll,
  createCompletions,
  createDirs,
  createDrafts,
  createEdit,
  createFileFinder,
  createFindTurnImage,
  createFindTurns,
  createFolderScripts,
  createIdleRetirement,
  createInterrupt,
  createKeep,
  createLabels,
  createList,
  createLiveSessions,
  createLocator,
  createNoteStore,
  createPromptQueue,
  createPublishAccess,
  createQueue,
  createQueueStore,
  createRead,
  createRerun,
  createRescues,
  createReviewAccess,
  createRulePreview,
  createRuleRequests,
  createSearch,
  createSee,
  createSessionAttachments,
  createSessionEvents,
  createSessionPages,
  createSessionStore,
  createSpawn,
  createStarter,
  createTurnFiles,
  createTurnStopper,
  createVisibleDirs,
  type Drafts,
  type FindTurnImage,
  type FindTurns,
  type FolderScripts,
  openPermissionHooks,
  type ProfileOf,
  type PublishAccess,
  type Queue,
  type Rescues,
  type ReviewAccess,
  type SessionAttachments,
  type StandingRules,
  type StartProfileOf,
  toAttachedFile,
} from "../sessions/index.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Viewer, ViewerLink, ViewRequest } from "../terminals/index.ts";
import {
  createRecordings,
  createSessionTerminals,
  createTerminalViews,
  type FindTerminal,
  type Recordings,
} from "../terminals/index.ts";
import { createTranscripts } from "../transcripts/index.ts";
import type { Caller, IsVisibleDir, ResolveAllowedDir, VisibleAmong } from "../wire/caller.ts";
import type { Branches, SessionDirs } from "../wire/changes.ts";
import type {
  AnswerPermissionInput,
  AnswerPermissionOutput,
  AskOutput,
  CloseAllOutput,
  CloseInput,
  CloseOutput,
  InterruptInput,
  InterruptOutput,
  KeepInput,
  KeepOutput,
  ListAgentsOutput,
  ReadInput,
  ReadOutput,
  SpawnInput,
  SpawnOutput,
} from "../wire/coding.ts";
import type { Completions, CompletionsQuery } from "../wire/completion.ts";
import type { ScriptRun } from "../wire/folder-scripts.ts";
import type { PermissionRulesPreview, PreviewPermissionRulesInput } from "../wire/permission-rules.ts";
import type { ListInput, ListOutput, SearchInput, SearchOutput } from "../wire/session-lists.ts";
import type { EditSessionInput, EditSessionOutput, LabelList, Seen } from "../wire/session-notes.ts";
import {
  type BaseOf,
  countWorktrees,
  createBaseOf,
  createBranches,
  createClosePreview,
  createGitWorkshop,
  createLooks,
  createSessionDiff,
  createSessionFiles,
  createWorktrees,
  type SessionPlace,
  sessionPlaceOf,
} from "../worktrees/index.ts";

/** Agent sessions. */
export interface Coding {
  ask(input: AskOrder, caller: Caller, signal: AbortSignal): Promise<AskOutput>;
  read(input: ReadInput, caller: Caller, signal: AbortSignal): Promise<ReadOutput>;
  list(input: ListInput, caller: Caller): Promise<ListOutput>;
  search(input: SearchInput, caller: Caller): Promise<SearchOutput>;
  close(input: CloseInput, caller: Caller): Promise<CloseOutput>;
  closeAll(caller: Caller): Promise<CloseAllOutput>;
  interrupt(input: InterruptInput, caller: Caller, signal: AbortSignal): Promise<InterruptOutput>;
  answerPermission(input: AnswerPermissionInput, caller: Caller): Promise<AnswerPermissionOutput>;
  /** The standing rules that an answer would add. */
  previewRules(input: PreviewPermissionRulesInput, caller: Caller): Promise<PermissionRulesPreview>;
  /**
   * Where a rule for this session or folder applies.
   * @throws PosternError `session_not_found` | `dir_not_allowed` | `dir_not_found`
   */
  rulePlaceOf(
    place: { readonly sessionId?: string | undefined; readonly folder?: string | undefined },
    caller: Caller,
  ): Promise<{ readonly sessionId: string | null; readonly dir: string }>;
  keep(input: KeepInput, caller: Caller): Promise<KeepOutput>;
  edit(input: EditSessionInput, caller: Caller): Promise<EditSessionOutput>;
  /** The caller's account has seen the session. */
  see(sessionId: string, caller: Caller): Promise<Seen>;
  /** Labels of the sessions that the caller can see. */
  labels(caller: Caller): Promise<LabelList>;
  /** The prompts that wait in a session. */
  readonly queue: Queue;
  spawn(input: SpawnInput, caller: Caller, signal: AbortSignal): Promise<SpawnOutput>;
  listAgents(): Promise<ListAgentsOutput>;
  /** The live terminal of a session, until the viewer leaves. Failures close the link. */
  viewTerminal(request: ViewRequest, caller: Caller, link: ViewerLink): Viewer;
  /** Files for prompts. */
  readonly attachments: SessionAttachments;
  /** Backup commits of removed worktrees. */
  readonly rescues: Rescues;
  /** Terminal recordings of sessions. */
  readonly recordings: Recordings;
  /** Diffs of sessions, and previews of their close. */
  readonly changes: Changes;
  /** Sessions and their prompts, for reviews. */
  readonly reviewAccess: ReviewAccess;
  /** Sessions and their places, for publishing. */
  readonly publishAccess: PublishAccess;
  /** Searches within one session. */
  readonly findTurns: FindTurns;
  /** Images that tools returned. */
  readonly findTurnImage: FindTurnImage;
  /** The branches that a worktree can start from. */
  branches(dir: string, caller: Caller): Promise<Branches>;
  /** The commit at which a comparison starts. */
  readonly baseOf: BaseOf;
  /** Files and commands for a prompt. */
  completions(query: CompletionsQuery, caller: Caller): Promise<Completions>;
  /** Unsent prompts. */
  readonly drafts: Drafts;
  /** Folders of the sessions that the caller can see. */
  dirs(caller: Caller): Promise<SessionDirs>;
  /** Logins and installation of agents, in terminals. */
  readonly setupJobs: AgentSetupJobs;
  /** Runs of setup and teardown scripts. */
  readonly scripts: FolderScripts;
  /** Runs the folder's setup script again in a session's worktree. */
  rerunSetup(sessionId: string, caller: Caller): Promise<ScriptRun>;
  /** Whether the folder rule allows this directory, which may be a removed worktree. */
  readonly isVisibleDir: IsVisibleDir;
  /** @see sessionPlaceOf */
  sessionPlaceOf(dir: string): Promise<SessionPlace>;
  /**
   * Sessions of the gateway that changed since `epochMs` or have a terminal, earliest first.
   * @param after the last session of the previous page; the page after the last one is empty
   */
  changedSince(epochMs: number, after: ChangedSession | null): Promise<readonly ChangedSession[]>;
  /** Every ID that a session ever had, the current one first; only this one if the gateway never ran it. */
  namesOf(sessionId: string): Promise<readonly string[]>;
  /** The time until which a session is forgotten (epoch milliseconds); null when it is not. */
  forgottenAt(sessionId: string): Promise<number | null>;
  /** Starts indexing transcripts in the background. */
  startIndexing(): void;
  /** Agents keep running in the terminal host. */
  stop(): Promise<void>;
}

export interface Agents {
  readonly templates: readonly AgentTemplate[];
  /** @throws PosternError `agent_unknown` */
  template(nameOrAlias: string): AgentTemplate;
  /** @throws PosternError `agent_unknown` | `agent_not_configured` | `agent_binary_missing` */
  resolve(name: string | undefined): Promise<{ readonly template: AgentTemplate; readonly binary: string }>;
  /** @throws PosternError like `resolve`, and `agent_version_unsupported` */
  resolveForLaunch: Agents["resolve"];
  list(): Promise<ListAgentsOutput>;
  environmentOf(template: AgentTemplate): Environment;
  loginChanged(name: string): void;
}

export interface CodingDeps {
  readonly db: Kysely<Tables>;
  readonly host: TerminalHostClient;
  readonly agents: Agents;
  readonly clock: Clock;
  readonly log: Log;
  /** The state folder. */
  readonly home: string;
  /** The fixed command that agents call as their hook. */
  readonly hookCommand: string;
  /** The Unix socket on which hooks ask for the decision on a permission. */
  readonly hookSocketPath: string;
  /** How long hooks wait for the decision; then the agent shows its own dialog. */
  readonly permissionAnswerMs: number;
  /** How long an agent can be idle before it is ended; null keeps all agents running. */
  readonly idleTimeoutMs: number | null;
  readonly maxSessions: number;
  readonly privatePrompts: boolean;
  /** Where events of sessions go. */
  readonly publisher: EventPublisher;
  readonly recordSetupJob: RecordSetupJob;
  readonly forgetInChats: ForgetInChats;
  /** Revokes the links to a session, given all its ids. */
  readonly forgetShares: (sessionIds: readonly string[]) => Promise<void>;
  readonly rules: StandingRules;
  readonly resolveAllowedDir: ResolveAllowedDir;
  readonly isVisibleDir: IsVisibleDir;
  readonly visibleAmong: VisibleAmong;
  readonly worktreeNameFor: (dir: string) => Promise<string>;
  readonly startProfileOf: StartProfileOf;
  readonly erasure: Erasure;
  readonly catalog: CatalogPlace;
  /** `PATH`, where git is looked for. */
  readonly pathVariable: string;
}

// Gateways that share a store would need different names.
const nodeId = "local";
/** Each runs a Git process and reads files. */
const comparisons = { atOnce: 2, waiting: 32 };
/** For snapshots at the start of a turn, which no request waits for. */
const turnComparisons = { atOnce: 2, waiting: 200 };

const changedAtOnce = 200;

/** Creates sessions and reattaches to those of an earlier gateway. */
export async function createCoding(deps: CodingDeps): Promise<Coding> {
  const { db, agents, clock, log, erasure } = deps;
  const { environmentOf, templates } = agents;
  await erasure.start();
  const store = createSessionStore(db, { nodeId });
  const attachments = createAttachments(deps);
  const queue = createPromptQueue(db, clock, {
    release: (promptId) => attachments.release(promptId),
    ofPrompts: async (promptIds) => attachedFiles(await attachments.ofPrompts(promptIds)),
  });
  const worktrees = createWorktrees({ ...deps, nodeId });
  const folderRule = countWorktrees(worktrees, deps);
  const events = createSessionEvents({ ...deps, store });
  const transcripts = createTranscripts({ formats: transcriptFormats, clock, log });
  const templateOf = (name: string): AgentTemplate | null =>
    templates.find((template) => template.name === name) ?? null;
  const hooks = await openPermissionHooks({ socketPath: deps.hookSocketPath, clock, log });
  const setupJobs = createAgentSetupJobs({ host: deps.host, agents, note: deps.recordSetupJob, clock, log });
  const scripts = createFolderScripts({ ...deps, isVisibleDir: folderRule.isVisibleDir });
  const ruleRequestOf = createRuleRequests({ worktrees });
  const workshop = createGitWorkshop(deps);
  const looking = { workshop, clock, gate: createGate(comparisons) };
  const looks = createLooks({ ...looking, home: deps.home });
  const turnLooks = createLooks({ ...looking, gate: createGate(turnComparisons), home: deps.home, folder: "turns" });
  const turnFiles = createTurnFiles({ looks: turnLooks, worktrees, clock, log });
  const live = createLiveSessions({
    ...deps,
    turnFiles,
    ruleRequestOf,
    hooks,
    store,
    queue,
    transcripts,
    events,
    templateOf,
    environmentOf,
    isOthers: (terminalId) => setupJobs.owns(terminalId) || scripts.owns(terminalId),
  });
  const forgotten = createForgottenSessions(db);
  const catalog = createCatalog({
    forgotten,
    place: deps.catalog,
    sources: templates.flatMap((template) => catalogSources(template, environmentOf(template))),
    clock,
    log,
  });
  const notes = createNoteStore(db);
  const pages = createSessionPages({
    ...deps,
    catalog,
    store,
    queue,
    live,
    worktrees,
    notes,
    templates,
    environmentOf,
  });
  const visibleDirs = createVisibleDirs({ ...deps, worktrees });
  const locator = createLocator({
    ...deps,
    ...folderRule,
    worktrees,
    notes,
    catalog,
    store,
    queue,
    live,
    transcripts,
    templates,
    environmentOf,
  });
  const binaryOf = async (template: AgentTemplate): Promise<string> =>
    (await agents.resolveForLaunch(template.name)).binary;
  const profileOf: ProfileOf = async (dir) => deps.startProfileOf((await worktrees.countedAs(dir)).counted, dir);
  const starter = createStarter({
    ...deps,
    scripts,
    profileOf,
    worktrees,
    store,
    queue,
    live,
    locator,
    environmentOf,
    binaryOf,
  });
  const resolveAgent: Agents["resolveForLaunch"] = (name) => agents.resolveForLaunch(name);
  const asking = {
    ...{ ...deps, ...folderRule, worktrees, attachments, locator, starter, queue, transcripts },
    ...{ resolveAgent, environmentOf, profileOf, scripts },
  };
  const turns = createTurnStopper(deps);
  const closing = { ...deps, locator, live, store, queue, events, worktrees, scripts, profileOf, environmentOf };
  const close = createClose(closing);
  const spawn = createSpawn(asking);
  const terminals = createSessionTerminals({ ...deps, locator, spawn });
  const views = createTerminalViews({
    ...deps,
    sources: [setupJobTerminals(setupJobs), (id, caller) => scripts.find(id, caller), terminals.find],
    gone: terminals.gone,
  });
  const changes = createChanges({
    ...folderRule,
    visibleAmong: deps.visibleAmong,
    locator,
    worktrees,
    sessionDiff: createSessionDiff(looking),
    files: createSessionFiles(looking),
    looks,
    turnFiles,
    closePreview: createClosePreview(looking),
  });
  const files = createFileFinder({ ...deps, marker: workshop.marker });
  await live.reconcile();
  await worktrees.reconcile(async (sessionId) => (await store.find(sessionId)) !== null);
  await events.reconcile();
  await queue.prune();
  const stopSweeping = sweepHourly(attachments, { clock, log });
  const retirement = createIdleRetirement({ ...deps, live, locator });
  const ask = createAsk(asking);
  return {
    ask,
    read: createRead({ locator, transcripts, attachments, clock }),
    list: createList({ catalog, pages, visibleDirs, templates }),
    search: createSearch({ catalog, pages, visibleDirs, templates }),
    close,
    closeAll: createCloseAll(closing, close),
    interrupt: createInterrupt({ locator, turns }),
    queue: createQueue({ ...asking, turns, events, waiting: createQueueStore(db) }),
    answerPermission: createAnswer({ ...deps, locator, ruleRequestOf }),
    previewRules: createRulePreview({ ...deps, locator, ruleRequestOf }),
    async rulePlaceOf(place, caller) {
      if (place.sessionId !== undefined) {
        const { record } = await locator.locate(place.sessionId, caller);
        const { counted } = await worktrees.countedAs(record.dir);
        return { sessionId: record.sessionId, dir: counted };
      }
      const { dir } = await folderRule.resolveAllowedDir(place.folder ?? "", { scope: "coding", caller });
      return { sessionId: null, dir: (await worktrees.countedAs(dir)).counted };
    },
    keep: createKeep({ locator, store }),
    edit: createEdit({ ...deps, locator, notes }),
    see: createSee({ locator, notes }),
    labels: createLabels({ catalog, visibleDirs }),
    spawn,
    viewTerminal: (request, caller, link) => views.view(request, caller, link),
    listAgents: () => agents.list(),
    attachments: createSessionAttachments({ attachments, locator }),
    rescues: createRescues({ ...deps, locator, worktrees }),
    recordings: createRecordings({
      ...deps,
      async forgetLooks(sessionIds) {
        await looks.forget(sessionIds);
        await turnLooks.forget(sessionIds);
      },
      attachments,
      locator,
      store,
      queue,
      catalog,
      notes,
    }),
    changes,
    reviewAccess: createReviewAccess({ ...deps, locator, queue, ask }),
    publishAccess: createPublishAccess({ ...deps, ...folderRule, locator, worktrees, live }),
    findTurns: createFindTurns({ locator, transcripts }),
    findTurnImage: createFindTurnImage({ locator, transcripts }),
    branches: createBranches({
      ...{ git: workshop.git, ...folderRule },
      branchPrefixOf: async (dir) => (await profileOf(dir)).branchPrefix,
    }),
    baseOf: createBaseOf({ git: workshop.git, ...folderRule }),
    completions: createCompletions({ ...folderRule, ...agents, resolveAgent: agents.resolve, locator, files, clock }),
    drafts: createDrafts({ db, locator, clock }),
    dirs: createDirs({ catalog, visibleDirs, worktrees }),
    setupJobs,
    scripts,
    rerunSetup: createRerun({ scripts, worktrees, profileOf, environmentOf, locator }),
    isVisibleDir: (dir, { scope, within }) => folderRule.isVisibleDir(dir, { scope, caller: { folders: within } }),
    sessionPlaceOf: (dir) => sessionPlaceOf(worktrees, dir),
    changedSince: (epochMs, after) => store.changedSince(epochMs, { after, limit: changedAtOnce }),
    async namesOf(sessionId) {
      const record = await store.find(sessionId);
      return record === null ? [sessionId] : [record.sessionId, ...record.aliases];
    },
    forgottenAt: (sessionId) => forgotten.at(sessionId),
    startIndexing: () => catalog.start(),
    async stop() {
      stopSweeping();
      views.close();
      await files.close();
      retirement.close();
      await catalog.close();
      await setupJobs.close();
      await scripts.close();
      await live.close();
      await turnFiles.close();
      await hooks.close();
      await transcripts.close();
    },
  };
}

function attachedFiles(
  found: ReadonlyMap<string, readonly StoredAttachment[]>,
): ReadonlyMap<string, readonly AttachedFile[]> {
  return new Map([...found].map(([promptId, files]) => [promptId, files.map(toAttachedFile)]));
}

// Often enough for files that are kept for a day.
const sweepEveryMs = 3_600_000;

/** @returns a function that ends it */
function sweepHourly(
  attachments: Pick<Attachments, "sweep">,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => void {
  let cancel = (): void => undefined;
  const sweep = (): void => {
    attachments
      .sweep()
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "cannot delete unused attachments"));
    cancel = clock.after(sweepEveryMs, sweep);
  };
  sweep();
  return () => cancel();
}

/** Terminals of setup jobs, by job ID. */
function setupJobTerminals(setupJobs: AgentSetupJobs): FindTerminal {
  return (setupJobId, caller) => setupJobs.find(setupJobId, caller);
}

/** All transcripts, including those of agents that are not configured, as for `read`. */
function catalogSources(template: AgentTemplate, env: Environment): readonly CatalogSource[] {
  const { name: agent, transcriptFormat: format } = template;
  return format === null ? [] : template.transcriptPlaces(env).map((place) => ({ agent, format, ...place }));
}
