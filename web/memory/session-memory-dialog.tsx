import { Link } from "react-router";
import { Dialog } from "../ui/dialog.tsx";
import { SessionMemory } from "./session-memory.tsx";

/** The memory of a session, over its page. */
export function SessionMemoryDialog({
  sessionId,
  title,
  onClose,
}: {
  readonly sessionId: string;
  readonly title: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Memory of this session"
      description="What was asked, decided, changed and run in it, kept so that it can be found again."
    >
      <SessionMemory sessionId={sessionId} title={title} />
      <Link
        to={`/memory?sessionId=${encodeURIComponent(sessionId)}`}
        className="self-start text-sm text-accent underline underline-offset-2"
      >
        What is remembered of it
      </Link>
    </Dialog>
  );
}
