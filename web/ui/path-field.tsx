import { Folder, FolderGit2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { usePathCompletion } from "../api/folders.ts";
import { classNames } from "./class-names.ts";
import { described, Field } from "./field.tsx";

interface Suggestion {
  readonly path: string;
  readonly isRepository: boolean;
}

const maxShown = 12;

/** A directory on the gateway's machine, completed while typing. */
export function PathField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (path: string) => void;
  /** Suggested before typing. */
  readonly known?: readonly string[];
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly autoFocus?: boolean;
}) {
  const { label, value, onChange, known = [], hint, error, ...rest } = props;
  const id = useId();
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const completion = usePathCompletion(open ? value : "");
  const suggestions = open ? suggest({ value, known, completed: completion.data?.directories ?? [] }) : [];
  const shown = open && suggestions.length > 0;

  const take = (path: string): void => {
    onChange(path);
    setAt(-1);
    setOpen(false);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const chosen = suggestions[at];
    if (event.key === "ArrowDown" && !shown) setOpen(true);
    else if (event.key === "ArrowDown") setAt((at + 1) % suggestions.length);
    else if (event.key === "ArrowUp" && shown) setAt((at <= 0 ? suggestions.length : at) - 1);
    else if (event.key === "Enter" && shown && chosen !== undefined) take(chosen.path);
    else if (event.key === "Escape" && shown) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <Field {...{ id, label, hint, error }}>
      <div className="relative">
        <input
          ref={input}
          {...described(id, { hint, error })}
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={shown}
          aria-controls={`${id}-list`}
          aria-activedescendant={shown && at >= 0 ? `${id}-${at}` : undefined}
          autoComplete="off"
          autoCapitalize="off"
          autoCorrect="off"
          spellCheck={false}
          placeholder="/home/you/code/project"
          value={value}
          onChange={(event) => {
            onChange(event.target.value);
            setAt(-1);
            setOpen(true);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
          {...rest}
          className="h-9 w-full min-w-0 rounded-md border border-line-strong bg-raised px-2.5 font-mono text-xs placeholder:text-ink-faint aria-invalid:border-danger"
        />
        <ul
          id={`${id}-list`}
          role="listbox"
          aria-label="Suggestions"
          hidden={!shown}
          className="absolute inset-x-0 top-full z-30 mt-1 max-h-72 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-float"
        >
          {suggestions.map(({ path, isRepository }, index) => (
            <li
              key={path}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              // Keeps the focus in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(path)}
              className={classNames(
                "flex cursor-pointer items-center gap-2 rounded px-2 py-1 font-mono text-xs hover:bg-hover pointer-coarse:py-2",
                index === at && "bg-hover",
              )}
            >
              {isRepository ? (
                <FolderGit2 aria-label="Repository" className="size-3.5 shrink-0 text-accent" />
              ) : (
                <Folder aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
              )}
              <span className="truncate">{path}</span>
            </li>
          ))}
        </ul>
      </div>
    </Field>
  );
}

/** Known paths first, then directories on disk. */
function suggest(props: {
  readonly value: string;
  readonly known: readonly string[];
  readonly completed: readonly Suggestion[];
}): readonly Suggestion[] {
  const { value, known, completed } = props;
  const words = value.toLowerCase();
  const familiar = known.filter((path) => path !== value && path.toLowerCase().includes(words));
  const repositories = new Set(completed.filter(({ isRepository }) => isRepository).map(({ path }) => path));
  const all = new Map<string, Suggestion>();
  for (const path of familiar.slice(0, 6)) all.set(path, { path, isRepository: repositories.has(path) });
  for (const one of completed) if (one.path !== value && one.path.startsWith(value)) all.set(one.path, one);
  return [...all.values()].slice(0, maxShown);
}
