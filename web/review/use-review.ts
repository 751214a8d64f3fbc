import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import type { SessionSummary } from "../../src/wire/coding.ts";
import {
  deletedCommentSchema,
  type ReviewComment,
  reviewCommentSchema,
  reviewCommentsSchema,
  sentReviewSchema,
  viewedFilesSchema,
} from "../../src/wire/reviews.ts";
import { messageOf } from "../api/api-error.ts";
import { acting, reading } from "../api/client.ts";
import { useAct } from "../api/query.ts";
import { showToast } from "../list/toasts.tsx";
import type { CommentRange } from "./review-lines.ts";

/** The comments on a session's changes, and the actions on them. Read again after each event of the session. */
export type Review = ReturnType<typeof useReview>;

const noComments: readonly ReviewComment[] = [];

export function useReview({
  sessionId,
  updatedAt,
  activity,
}: Pick<SessionSummary, "sessionId" | "updatedAt" | "activity">) {
  const client = useQueryClient();
  const key = ["review", sessionId];
  const viewedKey = ["viewed", sessionId];
  const refresh = () => client.invalidateQueries({ queryKey: key });
  const comments = useQuery({
    queryKey: [...key, updatedAt, activity],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => reading.listReviewComments({ sessionId }, { signal, output: reviewCommentsSchema }),
    staleTime: 2_000,
    gcTime: 10_000,
  });
  const viewed = useQuery({
    queryKey: viewedKey,
    queryFn: ({ signal }) => reading.listViewedFiles({ sessionId }, { signal, output: viewedFilesSchema }),
  });
  const add = useAct({
    mutationFn: ({
      path,
      body,
      range,
    }: {
      readonly path: string;
      readonly body: string;
      readonly range: CommentRange;
    }) => acting.addReviewComment({ sessionId, path, body, ...range }, { output: reviewCommentSchema }),
    onSuccess: refresh,
  });
  const edit = useAct({
    mutationFn: (change: {
      readonly commentId: string;
      readonly body?: string;
      readonly state?: "open" | "resolved";
    }) => acting.editReviewComment({ sessionId, ...change }, { output: reviewCommentSchema }),
    onSuccess: refresh,
  });
  async function restore({ path, side, line, endLine, snippet, body, state }: ReviewComment): Promise<void> {
    try {
      const comment = { sessionId, path, side, line, endLine, snippet: snippet.lines.join("\n"), body };
      const { commentId } = await acting.addReviewComment(comment, { output: reviewCommentSchema });
      if (state === "resolved") {
        await acting.editReviewComment({ sessionId, commentId, state }, { output: reviewCommentSchema });
      }
    } catch (error) {
      showToast({ tone: "danger", text: `Cannot restore the comment: ${messageOf(error)}` });
    }
    await refresh();
  }
  const remove = useAct({
    mutationFn: (commentId: string) =>
      acting.deleteReviewComment({ sessionId, commentId }, { output: deletedCommentSchema }),
    onSettled: refresh,
    onSuccess: ({ deleted }) =>
      showToast({
        tone: "info",
        text: "Comment deleted.",
        // Only a comment whose lines still exist can be added again.
        undo: deleted.outdated ? undefined : () => void restore(deleted),
      }),
  });
  const send = useAct({
    mutationFn: (shown: { readonly commentIds: string[]; readonly onDraft?: "clear" }) =>
      acting.sendReview({ sessionId, ...shown }, { output: sentReviewSchema }),
    onSettled: refresh,
  });
  const view = useAct({
    mutationFn: (file: { readonly path: string; readonly version: string | null }) =>
      acting.markFileViewed({ sessionId, ...file }, { output: viewedFilesSchema }),
    onSuccess: (files) => client.setQueryData(viewedKey, files),
  });
  const versions = new Map(viewed.data?.files.map(({ path, version }) => [path, version]));
  return {
    sessionId,
    comments: comments.data?.comments ?? noComments,
    error: comments.error,
    isViewed: (path: string, version: string) => versions.get(path) === version,
    add,
    edit,
    remove,
    send,
    view,
  };
}
