import { Link, NavLink } from "react-router";
import { classNames } from "../ui/class-names.ts";
import { EmptyState } from "../ui/notice.tsx";

const tabs = [
  { to: "/memory", label: "Entries" },
  { to: "/memory/entities", label: "Topics" },
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
    <EmptyState title="Memory is empty">
      <p>
        Postern can store what was asked and answered in each session, and extract what was decided, which files were
        edited, and which commands were run and how they ended. It stays here even after the session is gone.
      </p>
      <dl className="mx-auto mt-4 grid max-w-sm grid-cols-[auto_1fr] gap-x-3 gap-y-1.5 text-left text-xs">
        <dt className="col-span-2">
          Set <code className="text-ink-soft">memory.record</code> in the gateway’s{" "}
          <code className="text-ink-soft">config.json</code> to choose when:
        </dt>
        <dt>
          <code className="text-ink-soft">close</code>
        </dt>
        <dd>when a session ends, by default</dd>
        <dt>
          <code className="text-ink-soft">turn</code>
        </dt>
        <dd>also after each turn</dd>
        <dt>
          <code className="text-ink-soft">off</code>
        </dt>
        <dd>only when you save a session, on its page under “Memory”</dd>
      </dl>
      <p className="mt-4">
        Programs can add entries with{" "}
        <a href="/docs" className="text-accent underline underline-offset-2">
          the API
        </a>
        , and you can add notes. To get started, open{" "}
        <Link to="/" className="text-accent underline underline-offset-2">
          a session
        </Link>
        .
      </p>
    </EmptyState>
  );
}
