import { Link, NavLink } from "react-router";
import { classNames } from "../ui/class-names.ts";
import { EmptyState } from "../ui/notice.tsx";

const tabs = [
  { to: "/memory", label: "Entries" },
  { to: "/memory/entities", label: "Things" },
] as const;

/** The two ways through the memory: by time, and by what it is about. */
export function MemoryTabs() {
  return (
    <nav aria-label="Memory" className="mb-4 flex gap-4 border-b border-line">
      {tabs.map(({ to, label }) => (
        <NavLink
          key={to}
          to={to}
          end
          className={({ isActive }) =>
            classNames(
              "-mb-px border-b-2 px-0.5 pb-1.5 text-sm font-medium pointer-coarse:py-2.5",
              isActive ? "border-accent text-ink" : "border-transparent text-ink-soft hover:text-ink",
            )
          }
        >
          {label}
        </NavLink>
      ))}
    </nav>
  );
}

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
