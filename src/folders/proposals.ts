import { join } from "node:path";
import type { Kysely, Selectable } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import { findRepository } from "../platform/git-repository.ts";
import { openRegularFile } from "../platform/regular-file.ts";
import type { Tables } from "../storage/schema.ts";
import { type ProfileProposal, type ProposalContent, proposalContentSchema } from "../wire/folder-profiles.ts";
import { holds } from "./real-path.ts";

/** The file in which a repository proposes a profile. */
export const proposalFile = ".postern.json";

/** Two scripts of the largest size fit. A larger file is not a proposal. */
const maxBytes = 65_536;

/** Profiles that repositories propose. They have no effect until the owner approves exactly this content. */
export interface Proposals {
  /**
   * The approved profile of a repository; null if its file is missing or differs from the approved content. A different file is listed for
   * approval. The file is read once, so that the compared content is the returned content.
   */
  approvedIn(place: {
    /** The registered folder. */
    readonly folder: string;
    /** A directory in it. */
    readonly dir: string;
    /** The same directory in the worktree whose `.postern.json` is read. */
    readonly checkout: string;
  }): Promise<ProposalContent | null>;
  /** Proposals of the folder itself, and of repositories in it in which an agent was started. */
  list(folder: string): Promise<readonly ProfileProposal[]>;
  /** @throws PosternError `proposal_changed` (different content) | `invalid_request` (it cannot be used) */
  approve(folder: string, request: { readonly repository: string; readonly hash: string }): Promise<ProfileProposal>;
}

type Row = Selectable<Tables["profile_proposals"]>;

export function createProposals({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }): Proposals {
  const rowOf = (repository: string) =>
    db.selectFrom("profile_proposals").selectAll().where("repository", "=", repository).executeTakeFirst();

  /** Stores the content once, for the owner to read. */
  async function propose(repository: string, folder: string, content: string): Promise<void> {
    const values = { folder, proposed: content, proposed_at: clock.now() };
    await db
      .insertInto("profile_proposals")
      .values({ repository, ...values, approved: null, approved_at: null })
      .onConflict((conflict) => conflict.column("repository").doUpdateSet(values))
      .execute();
  }

  const approvedIn: Proposals["approvedIn"] = async ({ folder, dir, checkout }) => {
    const repository = (await findRepository(dir))?.root;
    const root = (await findRepository(checkout))?.checkout?.root;
    if (repository === undefined || root === undefined || !holds(folder, repository)) return null;
    const content = await readProposal(root);
    if (content === null) return null;
    const row = await rowOf(repository);
    if (row?.approved === content && row.folder === folder) return parse(content).content;
    if (row?.proposed !== content || row.folder !== folder) {
      // An approval for another folder does not count here.
      if (row !== undefined && row.folder !== folder) await remove(repository);
      await propose(repository, folder, content);
    }
    return null;
  };

  const remove = (repository: string) =>
    db.deleteFrom("profile_proposals").where("repository", "=", repository).execute();

  return {
    approvedIn,

    async list(folder) {
      await approvedIn({ folder, dir: folder, checkout: folder });
      const rows = await db
        .selectFrom("profile_proposals")
        .selectAll()
        .where("folder", "=", folder)
        .orderBy("repository")
        .limit(200)
        .execute();
      return rows.flatMap((row) => shown(row) ?? []);
    },

    async approve(folder, { repository, hash }) {
      const row = await rowOf(repository);
      const content = row?.folder === folder ? row.proposed : null;
      if (content === null || content === undefined || sha256(content) !== hash) throw changed(repository);
      const { error } = parse(content);
      if (error !== null) throw new PosternError("invalid_request", `${proposalFile} cannot be used: ${error}`);
      const { numUpdatedRows } = await db
        .updateTable("profile_proposals")
        .set({ approved: content, approved_at: clock.now() })
        .where("repository", "=", repository)
        .where("folder", "=", folder)
        .where("proposed", "=", content) // unless another content was proposed meanwhile
        .executeTakeFirst();
      const approved = await rowOf(repository);
      const now = approved && shown(approved);
      if (numUpdatedRows === 0n || now == null) throw changed(repository);
      return now;
    },
  };
}

function changed(repository: string): PosternError {
  const message = `The repository ${repository} does not propose this content. Read its proposal again.`;
  return new PosternError("proposal_changed", message);
}

function shown({ repository, proposed, approved, proposed_at, approved_at }: Row): ProfileProposal | null {
  if (proposed === null) return null;
  return {
    repository,
    state: proposed === approved ? "approved" : approved === null ? "proposed" : "changed",
    hash: sha256(proposed),
    content: proposed,
    error: parse(proposed).error,
    approved,
    proposedAt: proposed_at === null ? null : isoTime(proposed_at),
    approvedAt: approved_at === null ? null : isoTime(approved_at),
  };
}

type Parsed =
  | { readonly content: ProposalContent; readonly error: null }
  | { readonly content: null; readonly error: string };

function parse(text: string): Parsed {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { content: null, error: messageOf(error) };
  }
  const parsed = proposalContentSchema.safeParse(json);
  if (parsed.success) return { content: parsed.data, error: null };
  const [issue] = parsed.error.issues;
  return { content: null, error: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not valid"}` };
}

/** The text of the file; null if there is none, or none that can be a proposal. A link is not followed. */
async function readProposal(root: string): Promise<string | null> {
  const file = await openRegularFile(join(root, proposalFile), { followLinks: false });
  if (file === null) return null;
  try {
    const buffer = Buffer.alloc(maxBytes + 1);
    let filled = 0;
    for (let bytesRead = 1; bytesRead > 0 && filled <= maxBytes; filled += bytesRead) {
      ({ bytesRead } = await file.read(buffer, filled, buffer.byteLength - filled, filled));
    }
    const text = buffer.toString("utf8", 0, Math.min(filled, maxBytes));
    // The store does not accept NUL, and JSON contains none.
    return filled > maxBytes || text.includes("\0") || !text.isWellFormed() ? null : text;
  } finally {
    await file.close();
  }
}
