import { type ImageType, imageTypeOf } from "../core/image-types.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { ClosePreview, LookAtChanges, SessionDiff, SessionDiffQuery } from "../wire/changes.ts";
import type { ReviewedFile, ReviewedFileQuery } from "../wire/reviewed-files.ts";
import type {
  DiffBase,
  DiffOf,
  DiffOptions,
  FolderRule,
  LookKey,
  Looks,
  SessionFile,
  SessionFiles,
  WorktreeRecord,
  Worktrees,
} from "../worktrees/index.ts";
import { filesRule, textIn } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";
import type { TurnFiles } from "./turn-files.ts";

/** What sessions changed, and what closing them would do. */
export interface Changes {
  /**
   * `GET /api/coding/sessions/{id}/diff`: for callers that may see the session and the files in its folder.
   * @throws PosternError `session_not_found` | `dir_not_allowed` | `dir_not_found`, and the errors of the comparison
   */
  diff(sessionId: string, caller: Caller, query?: SessionDiffQuery): Promise<SessionDiff>;
  /**
   * The text of files, in the given order; null for a file that is missing, too large or not text.
   * @throws as {@link Changes.diff}
   */
  readFiles(sessionId: string, files: readonly SessionFile[], caller: Caller): Promise<readonly (string | null)[]>;
  /** `POST /api/coding/sessions/{id}/look`: remembers the files for the caller's account. @throws as {@link Changes.diff} */
  look(sessionId: string, caller: Caller): Promise<LookAtChanges>;
  /** `GET /api/coding/sessions/{id}/file`: one file on one side of the diff. @throws as {@link Changes.diff} */
  file(sessionId: string, caller: Caller, query: ReviewedFileQuery): Promise<ReviewedFile>;
  /** `GET /api/coding/sessions/{id}/file/image`. @throws PosternError `image_not_found`, and as {@link Changes.diff} */
  image(
    sessionId: string,
    caller: Caller,
    query: ReviewedFileQuery,
  ): Promise<{ readonly mediaType: ImageType; readonly bytes: Buffer }>;
  /** `GET /api/coding/sessions/{id}/close-preview`. @throws PosternError `session_not_found` | `rate_limited` */
  closePreview(sessionId: string, caller: Caller): Promise<ClosePreview>;
}
export interface ChangesDeps {
  readonly locator: Pick<SessionLocator, "locate">;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly sessionDiff: (of: DiffOf, options: DiffOptions) => Promise<SessionDiff>;
  readonly files: SessionFiles;
  readonly looks: Pick<Looks, "look" | "compared">;
  readonly turnFiles: Pick<TurnFiles, "compared" | "recordedAt">;
  readonly closePreview: (record: WorktreeRecord) => Promise<ClosePreview["worktree"]>;
  readonly resolveAllowedDir: FolderRule["resolveAllowedDir"];
  readonly visibleAmong: VisibleAmong;
}

/** @see Changes */
export function createChanges(deps: ChangesDeps): Changes {
  const { locator, worktrees } = deps;

  interface Place extends DiffOf {
    readonly key: LookKey;
    readonly ids: { readonly sessionId: string; readonly aliases: readonly string[] };
  }

  async function placeOf(sessionId: string, caller: Caller): Promise<Place> {
    const { record } = await locator.locate(sessionId, caller);
    const { dir } = await deps.resolveAllowedDir(record.dir, { scope: "files", caller });
    return {
      key: { sessionId: record.sessionId, accountId: caller.accountId },
      ids: record,
      dir,
      worktree: await worktrees.ofSession(record.sessionId),
      visibleAmong: (dirs) => deps.visibleAmong(dirs, filesRule(caller)),
    };
  }

  /** Compares a session's files with the requested base. */
  function against<T>(place: Place, wanted: DiffBase["against"], compare: (base: DiffBase) => Promise<T>): Promise<T> {
    if (wanted === "seen") return deps.looks.compared(place.key, (look) => compare({ against: wanted, look }));
    if (wanted === "turn") {
      return deps.turnFiles.compared(place.ids, (look) => {
        if (look !== null) return compare({ against: wanted, look });
        throw sessionError(
          "turn_not_recorded",
          `The files of session ${place.key.sessionId} were not recorded when its last turn began. Compare with "base" or "seen" instead.`,
        );
      });
    }
    return compare(wanted === undefined ? {} : { against: wanted });
  }

  function contentOf(place: Place, { path, side, against: wanted }: ReviewedFileQuery) {
    return against(place, wanted, (base) => deps.files.content(place, { path, side }, base));
  }

  return {
    async diff(
      sessionId,
      caller,
      { against: wanted, patches, path, previousPath, ignoreWhitespace }: Partial<SessionDiffQuery> = {},
    ) {
      const paths = [path, previousPath].filter((one) => one !== undefined);
      const options = {
        patches: patches !== "false",
        ignoreWhitespace: ignoreWhitespace === "true",
        only: path === undefined ? null : new Set(paths),
      };
      const place = await placeOf(sessionId, caller);
      const diff = await against(place, wanted, (base) => deps.sessionDiff(place, { ...options, ...base }));
      const lastTurnAt = await deps.turnFiles.recordedAt(place.ids);
      return lastTurnAt === null ? diff : { ...diff, lastTurnAt: new Date(lastTurnAt).toISOString() };
    },

    readFiles: async (sessionId, files, caller) => deps.files.texts(await placeOf(sessionId, caller), files),

    async look(sessionId, caller) {
      const place = await placeOf(sessionId, caller);
      const look = await deps.looks.look(place.key, place);
      return { sessionId: place.key.sessionId, since: look && new Date(look.at).toISOString() };
    },

    async file(sessionId, caller, query) {
      const { path, side } = query;
      const { bytes, sizeBytes } = await contentOf(await placeOf(sessionId, caller), query);
      const imageType = bytes === null ? null : imageTypeOf(bytes);
      const text = bytes === null || imageType !== null ? null : textIn(bytes);
      return { path, side, sizeBytes, imageType, text };
    },

    async image(sessionId, caller, query) {
      const { bytes } = await contentOf(await placeOf(sessionId, caller), query);
      const mediaType = bytes === null ? null : imageTypeOf(bytes);
      if (bytes !== null && mediaType !== null) return { mediaType, bytes };
      throw sessionError("image_not_found", `${query.path} is not a PNG, JPEG, GIF or WebP image of up to 8 MB.`);
    },

    async closePreview(sessionId, caller) {
      const { record } = await locator.locate(sessionId, caller);
      const worktree = await worktrees.ofSession(record.sessionId);
      return { worktree: worktree && (await deps.closePreview(worktree)) };
    },
  };
}
