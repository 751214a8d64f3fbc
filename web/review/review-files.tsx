import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import type { ChangedFile } from "../../src/wire/changes.ts";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { DiffCount } from "../session/code-block.tsx";
import { counted } from "../session/session-words.ts";
import { Badge } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { CommentView } from "./comment-view.tsx";
import { versionOf } from "./review-lines.ts";
import { ReviewPatch } from "./review-patch.tsx";
import type { Review } from "./use-review.ts";

/** The changed files of a session, with comments and marks of what was viewed. */
export function ReviewFiles({ files, review }: { readonly files: readonly ChangedFile[]; readonly review: Review }) {
  const byPath = useMemo(() => Map.groupBy(review.comments, ({ path }) => path), [review.comments]);
  const shown = new Set(
    files.flatMap(({ path, previousPath }) => (previousPath === null ? [path] : [path, previousPath])),
  );
  const elsewhere = review.comments.filter(({ path }) => !shown.has(path));
  return (
    <>
      <ErrorNotice
        error={review.error ?? review.view.error ?? review.edit.error ?? review.remove.error}
        className="p-3"
      />
      <ul>
        {files.map((file, index) => (
          <FileReview
            key={file.path}
            file={file}
            comments={commentsOf(file, byPath)}
            review={review}
            first={index === 0 && files.length <= 3}
          />
        ))}
      </ul>
      {elsewhere.length > 0 && (
        <section aria-label="Comments on other files" className="px-3 py-2">
          <h3 className="label-caps">Comments on other files</h3>
          {elsewhere.map((comment) => (
            <div key={comment.commentId}>
              <p className="mt-2 font-mono text-xs wrap-anywhere">{comment.path}</p>
              <CommentView comment={comment} review={review} apart />
            </div>
          ))}
        </section>
      )}
    </>
  );
}

/** Comments on removed lines of a renamed file have its previous path. */
function commentsOf(
  { path, previousPath }: ChangedFile,
  byPath: ReadonlyMap<string, readonly ReviewComment[]>,
): readonly ReviewComment[] {
  const own = byPath.get(path) ?? none;
  if (previousPath === null) return own;
  return [...own, ...(byPath.get(previousPath) ?? none).filter(({ side }) => side === "old")];
}

const none: readonly ReviewComment[] = [];
const tones = { added: "accent", untracked: "accent", modified: "plain", renamed: "plain", deleted: "danger" } as const;
const words = {
  added: "new",
  untracked: "untracked",
  modified: "changed",
  renamed: "renamed",
  deleted: "deleted",
} as const;

function FileReview({
  file,
  comments,
  review,
  first,
}: {
  readonly file: ChangedFile;
  readonly comments: readonly ReviewComment[];
  readonly review: Review;
  readonly first: boolean;
}) {
  const { path, previousPath, status, additions, deletions, patch } = file;
  const version = useMemo(() => versionOf(patch, { additions, deletions }), [patch, additions, deletions]);
  const viewed = review.isViewed(path, version);
  const [toggled, setToggled] = useState<boolean | null>(null);
  const open = toggled ?? (first && !viewed);
  const unresolved = comments.filter(({ state }) => state !== "resolved").length;
  return (
    <li className="border-b border-line">
      <div className="flex items-center gap-1 pr-1.5 hover:bg-hover">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setToggled(!open)}
          className="flex min-w-0 flex-1 items-center gap-2 py-1.5 pl-2.5 text-left pointer-coarse:min-h-11"
        >
          <ChevronRight aria-hidden className={classNames("size-3.5 shrink-0 text-ink-faint", open && "rotate-90")} />
          <span
            className={classNames("min-w-0 flex-1 truncate font-mono text-xs", viewed && "text-ink-faint")}
            title={path}
          >
            {previousPath !== null && <span className="text-ink-faint">{previousPath} → </span>}
            {path}
          </span>
          {unresolved > 0 && <Badge tone="lamp">{counted(unresolved, "comment")}</Badge>}
          <Badge tone={tones[status]}>{words[status]}</Badge>
          {additions !== null && deletions !== null && <DiffCount added={additions} removed={deletions} />}
        </button>
        <label className="flex cursor-pointer items-center gap-1.5 px-1 text-xs text-ink-soft select-none pointer-coarse:min-h-11">
          <input
            type="checkbox"
            className="size-3.5 accent-accent-fill"
            checked={viewed}
            disabled={review.view.isPending}
            aria-label={`Viewed ${path}`}
            onChange={() => {
              review.view.mutate({ path, version: viewed ? null : version });
              setToggled(viewed ? null : false);
            }}
          />
          <span className="max-sm:sr-only">Viewed</span>
        </label>
        <CopyButton text={path} label={`Copy path ${path}`} />
      </div>
      {open &&
        (patch === null ? (
          <div className="bg-well px-3 py-2 text-xs text-ink-faint">
            <p className="px-5">Binary file, or too large to show.</p>
            {comments.map((comment) => (
              <CommentView key={comment.commentId} comment={comment} review={review} apart />
            ))}
          </div>
        ) : (
          <ReviewPatch {...{ path, previousPath, patch, comments, review }} />
        ))}
    </li>
  );
}
