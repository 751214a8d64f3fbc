import { type ImageType, imageTypeOf } from "../core/image-types.ts";
import type { Caller, VisibleAmong } from "../wire/caller.ts";
import type { ClosePreview, SessionDiff, SessionDiffQuery } from "../wire/changes.ts";
import type { ReviewedFile, ReviewedFileQuery } from "../wire/reviewed-files.ts";
import type {
  DiffOf,
  DiffOptions,
  FolderRule,
  SessionFile,
  SessionFiles,
  WorktreeRecord,
  Worktrees,
} from "../worktrees/index.ts";
import { filesRule, textIn } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";

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
  readonly closePreview: (record: WorktreeRecord) => Promise<ClosePreview["worktree"]>;
  readonly resolveAllowedDir: FolderRule["resolveAllowedDir"];
  readonly visibleAmong: VisibleAmong;
}

/** @see Changes */
export function createChanges(deps: ChangesDeps): Changes {
  const { locator, worktrees } = deps;

  async function placeOf(sessionId: string, caller: Caller): Promise<DiffOf> {
    const { record } = await locator.locate(sessionId, caller);
    const { dir } = await deps.resolveAllowedDir(record.dir, { scope: "files", caller });
    return {
      dir,
      worktree: await worktrees.ofSession(record.sessionId),
      visibleAmong: (dirs) => deps.visibleAmong(dirs, filesRule(caller)),
    };
  }

  return {
    async diff(
      sessionId,
      caller,
      { against, patches, path, previousPath, ignoreWhitespace }: Partial<SessionDiffQuery> = {},
    ) {
      const paths = [path, previousPath].filter((one) => one !== undefined);
      const options = {
        ...(against !== undefined && { against }),
        patches: patches !== "false",
        ignoreWhitespace: ignoreWhitespace === "true",
        only: path === undefined ? null : new Set(paths),
      };
      return deps.sessionDiff(await placeOf(sessionId, caller), options);
    },

    readFiles: async (sessionId, files, caller) => deps.files.texts(await placeOf(sessionId, caller), files),

    async file(sessionId, caller, { path, side, against }) {
      const content = await deps.files.content(await placeOf(sessionId, caller), { path, side }, { against });
      const { bytes, sizeBytes } = content;
      const imageType = bytes === null ? null : imageTypeOf(bytes);
      const text = bytes === null || imageType !== null ? null : textIn(bytes);
      return { path, side, sizeBytes, imageType, text };
    },

    async image(sessionId, caller, { path, side, against }) {
      const { bytes } = await deps.files.content(await placeOf(sessionId, caller), { path, side }, { against });
      const mediaType = bytes === null ? null : imageTypeOf(bytes);
      if (bytes !== null && mediaType !== null) return { mediaType, bytes };
      throw sessionError("image_not_found", `${path} is not a PNG, JPEG, GIF or WebP image of up to 8 MB.`);
    },

    async closePreview(sessionId, caller) {
      const { record } = await locator.locate(sessionId, caller);
      const worktree = await worktrees.ofSession(record.sessionId);
      return { worktree: worktree && (await deps.closePreview(worktree)) };
    },
  };
}
