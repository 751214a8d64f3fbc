import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { type ChangedFile, type DiffAgainst, sessionDiffSchema } from "../../src/wire/changes.ts";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { reading } from "../api/client.ts";
import { usePreferences } from "../app/preferences.ts";
import { DiffCount } from "../session/code-block.tsx";
import { counted } from "../session/session-words.ts";
import { Badge } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { useNarrow } from "../ui/page.tsx";
import { Block } from "./block.tsx";
import { CommentView } from "./comment-view.tsx";
import { FileSides } from "./file-sides.tsx";
import { ReviewPatch } from "./review-patch.tsx";
import type { Review } from "./use-review.ts";

/** Blocks of the list are rendered only near the visible part, because a change can have 5,000 files. */
const blockFiles = 50;
const fileHeightPx = 33;

/** The changed files of a session, with comments and “viewed” marks. */
export function ReviewFiles({
  files,
  against,
  review,
}: {
  readonly files: readonly ChangedFile[];
  readonly against: DiffAgainst;
  readonly review: Review;
}) {
  const byPath = useMemo(() => Map.groupBy(review.comments, ({ path }) => path), [review.comments]);
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const toggle = (path: string, open: boolean): void => setToggled((before) => new Map([...before, [path, open]]));
  const shown = useMemo(
    () => new Set(files.flatMap(({ path, previousPath }) => (previousPath === null ? [path] : [path, previousPath]))),
    [files],
  );
  const elsewhere = review.comments.filter(({ path }) => !shown.has(path));
  const isOpen = ({ path, version }: ChangedFile, index: number): boolean =>
    toggled.get(path) ?? (index === 0 && files.length <= 3 && !review.isViewed(path, version));
  const starts = Array.from({ length: Math.ceil(files.length / blockFiles) }, (_, block) => block * blockFiles);
  return (
    <>
      <ErrorNotice
        error={review.error ?? review.view.error ?? review.edit.error ?? review.remove.error}
        className="p-3"
      />
      {starts.map((start) => {
        const some = files.slice(start, start + blockFiles);
        return (
          <Block
            key={start}
            heightPx={some.length * fileHeightPx}
            kept={some.some((file, offset) => isOpen(file, start + offset))}
          >
            {() => (
              <ul>
                {some.map((file, offset) => (
                  <FileReview
                    key={file.path}
                    file={file}
                    against={against}
                    comments={commentsOf(file, byPath)}
                    review={review}
                    open={isOpen(file, start + offset)}
                    onOpen={(open) => toggle(file.path, open)}
                  />
                ))}
              </ul>
            )}
          </Block>
        );
      })}
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

interface FileProps {
  readonly file: ChangedFile;
  readonly against: DiffAgainst;
  readonly comments: readonly ReviewComment[];
  readonly review: Review;
}

function FileReview(props: FileProps & { readonly open: boolean; readonly onOpen: (open: boolean) => void }) {
  const { file, comments, review, open, onOpen } = props;
  const { path, previousPath, status, additions, deletions, version } = file;
  const viewed = review.isViewed(path, version);
  const unresolved = comments.filter(({ state }) => state !== "resolved").length;
  return (
    <li className="border-b border-line">
      <div className="flex items-center gap-1 pr-1.5 hover:bg-hover">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => onOpen(!open)}
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
          {/* A phone has no room for it next to the path. */}
          <span className="flex max-sm:hidden">
            <Badge tone={tones[status]}>{words[status]}</Badge>
          </span>
          {additions !== null && deletions !== null && <DiffCount added={additions} removed={deletions} />}
        </button>
        <label className="flex cursor-pointer items-center gap-1.5 px-1 text-xs text-ink-soft select-none pointer-coarse:min-h-11 pointer-coarse:min-w-8">
          <input
            type="checkbox"
            className="size-3.5 accent-accent-fill"
            checked={viewed}
            disabled={review.view.isPending}
            aria-label={`Viewed ${path}`}
            onChange={() => {
              review.view.mutate({ path, version: viewed ? null : version });
              onOpen(viewed);
            }}
          />
          <span className="max-sm:sr-only">Viewed</span>
        </label>
        <CopyButton text={path} label={`Copy path ${path}`} />
      </div>
      {open && <FilePatch {...props} />}
    </li>
  );
}

/** A file's patch, which is loaded when the file is opened. */
function FilePatch({ file, against, comments, review }: FileProps) {
  const { path, previousPath, version } = file;
  const { sessionId } = review;
  const { diffLayout, ignoreWhitespace } = usePreferences();
  const narrow = useNarrow();
  const { data, error, refetch } = useQuery({
    queryKey: ["diff", sessionId, "file", against, path, version, ignoreWhitespace],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      reading.sessionDiff(
        {
          ...{ sessionId, against, path, ignoreWhitespace: ignoreWhitespace ? "true" : "false" },
          ...(previousPath !== null && { previousPath }),
        },
        { signal, output: sessionDiffSchema },
      ),
    staleTime: Infinity,
    gcTime: 30_000,
  });
  if (data === undefined) {
    return (
      <div className="p-3">
        <ErrorNotice error={error} onRetry={() => void refetch()} />
        {error === null && <LoadingRows label={`Loading ${path}`} rows={2} />}
      </div>
    );
  }
  const patch = data.files.find((found) => found.path === path)?.patch ?? null;
  if (patch !== null) {
    const removable = against === "base";
    const split = diffLayout === "split" && !narrow;
    return <ReviewPatch {...{ path, previousPath, version, patch, comments, review, removable, split }} />;
  }
  return (
    <div className="bg-well px-3 py-2 text-xs text-ink-faint">
      <FileSides sessionId={sessionId} file={file} against={against} />
      {comments.map((comment) => (
        <CommentView key={comment.commentId} comment={comment} review={review} apart />
      ))}
    </div>
  );
}
