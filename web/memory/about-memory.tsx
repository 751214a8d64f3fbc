import { Link } from "react-router";
import { EmptyState } from "../ui/notice.tsx";

/** What the memory is and how it fills, where nothing is in it yet. */
export function AboutMemory() {
  return (
    <EmptyState title="Nothing is remembered yet.">
      <p>
        Of each session Postern can keep what was asked and answered, and draw from it what was decided, which files
        were edited, which commands were run and how they ended. Here you find it again, whatever became of the session.
      </p>
      <dl className="mx-auto mt-4 grid max-w-sm grid-cols-[auto_1fr] gap-x-3 gap-y-1.5 text-left text-xs">
        <dt className="col-span-2">
          When that happens, <code className="text-ink-soft">memory.record</code> in the gateway’s{" "}
          <code className="text-ink-soft">config.json</code> says:
        </dt>
        <dt>
          <code className="text-ink-soft">close</code>
        </dt>
        <dd>when a session ends, by default</dd>
        <dt>
          <code className="text-ink-soft">turn</code>
        </dt>
        <dd>after each of its turns too</dd>
        <dt>
          <code className="text-ink-soft">off</code>
        </dt>
        <dd>only when you ask for it, on a session’s page under “Memory”</dd>
      </dl>
      <p className="mt-4">
        Programs write into it by{" "}
        <a href="/docs" className="text-accent underline underline-offset-2">
          the API
        </a>
        , and you with a note. To begin, open{" "}
        <Link to="/" className="text-accent underline underline-offset-2">
          a session
        </Link>
        .
      </p>
    </EmptyState>
  );
}
