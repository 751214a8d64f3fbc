import { Search } from "lucide-react";
import type { ComponentProps } from "react";

/** What is searched for, named by `label` without showing it beside. Escape leaves it once it is empty. */
export function SearchField({
  label,
  typed,
  onTyped,
  ...rest
}: Pick<ComponentProps<"input">, "ref" | "maxLength"> & {
  readonly label: string;
  readonly typed: string;
  readonly onTyped: (text: string) => void;
}) {
  return (
    <div className="relative">
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-faint" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        {...rest}
        value={typed}
        onChange={(event) => onTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && typed === "") event.currentTarget.blur();
        }}
        className="h-9 w-full rounded-lg border border-line-strong bg-raised pr-3 pl-9 placeholder:text-ink-faint"
      />
    </div>
  );
}
