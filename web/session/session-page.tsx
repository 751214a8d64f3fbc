import { useState } from "react";
import { Link, useParams } from "react-router";
import { ApiError } from "../api/api-error.ts";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { usePageTitle } from "../ui/page.tsx";
import { isLive, sessionTitle } from "../ui/session-state.ts";
import { useRecording } from "./playback-tab.tsx";
import { SessionView } from "./session-view.tsx";
import { useSession } from "./use-session.ts";

/** A session: its terminal, and its turns. */
export function SessionPage() {
  const { sessionId = "" } = useParams();
  return <OneSession key={sessionId} sessionId={sessionId} />;
}

function OneSession({ sessionId }: { readonly sessionId: string }) {
  const { query, older } = useSession(sessionId);
  const { data, error, refetch } = query;
  const recording = useRecording(sessionId);
  // Whether an ended session has anything to show beside its conversation decides how the page is laid out.
  const known =
    recording.data !== undefined || recording.error !== null || (data !== undefined && isLive(data.summary));
  const recorded = recording.data === undefined || recording.data.terminals.length > 0;
  usePageTitle(data === undefined ? "Session" : sessionTitle(data.summary));
  const [onOlder] = useState(() => () => older.mutate());
  if (data === undefined || !known) {
    const gone = error instanceof ApiError && error.status === 404;
    return (
      <div className="mx-auto w-full max-w-2xl px-4 py-8">
        <h1 className="sr-only">Session</h1>
        {error === null ? (
          <LoadingRows label="Loading the session" />
        ) : (
          <>
            <ErrorNotice error={error} {...(gone ? {} : { onRetry: () => void refetch() })} />
            <p className="mt-3 text-sm">
              <Link to="/" className="text-accent underline underline-offset-2">
                To the sessions
              </Link>
            </p>
          </>
        )}
      </div>
    );
  }
  return (
    <SessionView
      sessionId={sessionId}
      loaded={data}
      recorded={recorded}
      loadingOlder={older.isPending}
      onOlder={onOlder}
      trouble={error ?? older.error}
    />
  );
}
