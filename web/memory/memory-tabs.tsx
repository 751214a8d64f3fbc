import { NavLink } from "react-router";
import { classNames } from "../ui/class-names.ts";

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
