import type { Kysely, Selectable, Transaction } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tables } from "../storage/schema.ts";
import type { Folder } from "../wire/access.ts";
import { permissionModeSchema } from "../wire/coding.ts";
import {
  defaultSetupTimeoutMs,
  defaultTeardownTimeoutMs,
  type FolderProfile,
  maxProfileVariables,
  type ProposalContent,
  proposalContentSchema,
} from "../wire/folder-profiles.ts";
import type { Proposals } from "./proposals.ts";
import { checkVariables } from "./variables.ts";

/** Everything of a profile except its variables. */
export type ProfileSettings = Omit<FolderProfile, "folderId" | "path" | "env" | "updatedAt">;

export type Variables = Readonly<Record<string, string>>;

/** A script with the time after which it is ended. */
export interface ProfileScript {
  readonly text: string;
  readonly timeoutMs: number;
}

/** How agents start in a directory. */
export interface StartProfile extends Pick<ProfileSettings, "agent" | "model" | "permissionMode" | "branchPrefix"> {
  readonly env: Variables;
  readonly setup: ProfileScript | null;
  readonly teardown: ProfileScript | null;
}

/** Profiles of registered folders. Read from the store at every call. */
export interface FolderProfiles {
  /** @throws PosternError `folder_not_found` */
  read(folder: FolderName): Promise<FolderProfile>;
  /**
   * Reads and changes a profile atomically.
   * @throws PosternError `folder_not_found` | `invalid_request` (a variable that cannot be set) | `agent_unknown`
   */
  change(
    folder: FolderName,
    revise: (current: { readonly settings: ProfileSettings; readonly env: Variables }) => {
      readonly settings: ProfileSettings;
      readonly env: Variables;
    },
  ): Promise<FolderProfile>;
  /**
   * The profile of the innermost folder that holds `dir`, including the approved proposal of its repository.
   * @param checkout the directory whose repository is read for a proposal, if not `dir`
   */
  startProfileOf(dir: string, checkout?: string): Promise<StartProfile>;
}

/** A folder by its id or its path. */
export type FolderName = { readonly folderId: string } | { readonly path: string };

export interface FolderProfilesDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly folders: {
    list(): Promise<readonly Folder[]>;
    folderOf(path: string): Promise<{ readonly folder: Folder; readonly dir: string } | null>;
  };
  readonly proposals: Pick<Proposals, "approvedIn">;
  /** Whether this variable changes where an agent keeps its transcripts. */
  readonly movesAgents: (name: string) => boolean;
  /** @throws PosternError `agent_unknown` */
  readonly requireAgent: (name: string) => void;
}

const noSettings: ProfileSettings = {
  ...{ setup: null, setupTimeoutMs: null, teardown: null, teardownTimeoutMs: null },
  ...{ agent: null, model: null, permissionMode: null, branchPrefix: null },
};

/** Fields from a later version are ignored. */
const storedSettingsSchema = z.object(proposalContentSchema.shape).extend({
  permissionMode: permissionModeSchema.nullable().optional(),
});
const storedVariablesSchema = z.record(z.string(), z.string());
const storedNamesSchema = z.array(z.string());

export function createFolderProfiles(deps: FolderProfilesDeps): FolderProfiles {
  const { db, clock, secrets, folders, proposals } = deps;

  async function requireFolder(name: FolderName): Promise<Folder> {
    const found =
      "path" in name
        ? await registeredAt(name.path)
        : (await folders.list()).find(({ folderId }) => folderId === name.folderId);
    if (found !== undefined) return found;
    const what = "path" in name ? name.path : `The folder ${name.folderId}`;
    throw new PosternError(
      "folder_not_found",
      `${what} is not a registered folder. Run \`postern folder list\` to see them.`,
    );
  }

  /** The registered folder to which this path leads. */
  async function registeredAt(path: string): Promise<Folder | undefined> {
    const holder = await folders.folderOf(path);
    return holder?.dir === holder?.folder.path ? holder?.folder : undefined;
  }

  const rowOf = (from: Kysely<Tables>, path: string) =>
    from.selectFrom("folder_profiles").selectAll().where("path", "=", path).executeTakeFirst();

  function variablesOf(row: Selectable<Tables["folder_profiles"]> | undefined): Variables {
    if (row?.sealed_env == null) return {};
    return storedVariablesSchema.parse(JSON.parse(secrets.open(row.sealed_env, purposeOf(row.path))));
  }

  async function write(
    trx: Transaction<Tables>,
    path: string,
    { settings, env }: { readonly settings: ProfileSettings; readonly env: Variables },
  ): Promise<void> {
    const names = Object.keys(env).toSorted();
    const values = {
      settings: JSON.stringify(settings),
      env_names: JSON.stringify(names),
      sealed_env: names.length === 0 ? null : secrets.seal(JSON.stringify(env), purposeOf(path)),
      updated_at: clock.now(),
    };
    await trx
      .insertInto("folder_profiles")
      .values({ path, ...values })
      .onConflict((conflict) => conflict.column("path").doUpdateSet(values))
      .execute();
  }

  const requireValid = (settings: ProfileSettings, env: Variables): void => {
    if (settings.agent !== null) deps.requireAgent(settings.agent);
    checkVariables(env, { movesAgents: deps.movesAgents, max: maxProfileVariables });
  };

  async function read(name: FolderName): Promise<FolderProfile> {
    const { folderId, path } = await requireFolder(name);
    const row = await rowOf(db, path);
    return {
      folderId,
      path,
      ...settingsOf(row),
      env: row === undefined ? [] : storedNamesSchema.parse(JSON.parse(row.env_names)),
      updatedAt: row === undefined ? null : isoTime(row.updated_at),
    };
  }

  return {
    read,

    async change(name, revise) {
      const { path } = await requireFolder(name);
      await db.transaction().execute(async (trx) => {
        // Locks the folder: two changes at once must not undo each other.
        const { numUpdatedRows } = await trx
          .updateTable("folders")
          .set((of) => ({ worktree_name: of.ref("worktree_name") }))
          .where("path", "=", path)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) {
          throw new PosternError("folder_not_found", `${path} is no longer a registered folder.`);
        }
        const row = await rowOf(trx, path);
        const next = revise({
          settings: settingsOf(row),
          // Decrypted only when needed, so that a profile can still be replaced after the key was lost.
          get env() {
            return variablesOf(row);
          },
        });
        requireValid(next.settings, next.env);
        await write(trx, path, next);
      });
      return read({ path });
    },

    async startProfileOf(dir, checkout = dir) {
      const holder = await folders.folderOf(dir);
      if (holder === null) return { ...noSettings, env: {}, setup: null, teardown: null };
      const { folder } = holder;
      const row = await rowOf(db, folder.path);
      const proposed = await proposals.approvedIn({ folder: folder.path, dir: holder.dir, checkout });
      const settings = filledFrom(settingsOf(row), proposed);
      const { agent, model, permissionMode, branchPrefix } = settings;
      return {
        ...{ agent, model, permissionMode, branchPrefix },
        env: variablesOf(row),
        setup: scriptOf(settings.setup, settings.setupTimeoutMs ?? defaultSetupTimeoutMs),
        teardown: scriptOf(settings.teardown, settings.teardownTimeoutMs ?? defaultTeardownTimeoutMs),
      };
    },
  };
}

/** Binds the variables to their folder, so that a copied row cannot be decrypted. */
function purposeOf(path: string): string {
  return `variables of ${path}`;
}

function settingsOf(row: Selectable<Tables["folder_profiles"]> | undefined): ProfileSettings {
  if (row === undefined) return noSettings;
  return withoutGaps(storedSettingsSchema.parse(JSON.parse(row.settings)));
}

function withoutGaps(given: z.infer<typeof storedSettingsSchema>): ProfileSettings {
  const { setup = null, setupTimeoutMs = null, teardown = null, teardownTimeoutMs = null } = given;
  const { agent = null, model = null, permissionMode = null, branchPrefix = null } = given;
  return { setup, setupTimeoutMs, teardown, teardownTimeoutMs, agent, model, permissionMode, branchPrefix };
}

/** The owner's settings take precedence. A script stays together with its time limit, and a model with its agent. */
function filledFrom(own: ProfileSettings, proposed: ProposalContent | null): ProfileSettings {
  if (proposed === null) return own;
  const { setup = null, setupTimeoutMs = null, teardown = null, teardownTimeoutMs = null } = proposed;
  const { agent = null, model = null, branchPrefix = null } = proposed;
  return {
    ...own,
    ...(own.setup === null ? { setup, setupTimeoutMs: own.setupTimeoutMs ?? setupTimeoutMs } : {}),
    ...(own.teardown === null ? { teardown, teardownTimeoutMs: own.teardownTimeoutMs ?? teardownTimeoutMs } : {}),
    ...(own.agent === null && own.model === null ? { agent, model } : {}),
    branchPrefix: own.branchPrefix ?? branchPrefix,
  };
}

function scriptOf(text: string | null, timeoutMs: number): ProfileScript | null {
  return text === null ? null : { text, timeoutMs };
}

/** A complete profile from the body of a PUT. Fields that are left out are cleared, except for variables. */
export function replacedBy(
  input: z.infer<typeof storedSettingsSchema> & { readonly env?: Readonly<Record<string, string | null>> | undefined },
): Parameters<FolderProfiles["change"]>[1] {
  return (current) => ({
    settings: withoutGaps(input),
    env: input.env === undefined ? current.env : keptOrGiven(input.env, current),
  });
}

function keptOrGiven(given: Readonly<Record<string, string | null>>, current: { readonly env: Variables }): Variables {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const kept = value ?? current.env[name];
      if (kept !== undefined) return [name, kept];
      throw new PosternError("invalid_request", `The variable ${name} has no stored value to keep. Set its value.`);
    }),
  );
}
