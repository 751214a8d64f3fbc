import { Plus, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { PathField } from "../ui/path-field.tsx";

/** Some directories, each typed or taken from what is known. What stands in the field without being added counts too. */
export function FolderChoice({
  legend,
  hint,
  known,
  chosen,
  onChange,
  typed,
  onType,
  error,
}: {
  readonly legend: string;
  readonly hint: string;
  readonly known: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (folders: readonly string[]) => void;
  readonly typed: string;
  readonly onType: (path: string) => void;
  readonly error?: string | undefined;
}) {
  const [said, setSaid] = useState("");
  const add = (): void => {
    onChange(withTyped(chosen, typed));
    onType("");
    setSaid(`${typed.trim()} was added.`);
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="sr-only">{legend}</legend>
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <PathField
            label={legend}
            value={typed}
            onChange={onType}
            known={known.filter((path) => !chosen.includes(path))}
            error={error}
          />
        </div>
        <Button icon={Plus} className="h-9" disabled={typed.trim() === ""} onClick={add}>
          Add
        </Button>
      </div>
      {chosen.length > 0 && (
        <ul aria-label={legend} className="flex flex-col gap-1">
          {chosen.map((path) => (
            <li key={path} className="flex items-center gap-1 rounded-md bg-well pr-0.5 pl-2.5">
              <span className="min-w-0 flex-1 py-1 font-mono text-xs break-all">{path}</span>
              <IconButton
                label={`Without ${path}`}
                icon={X}
                onClick={() => onChange(chosen.filter((one) => one !== path))}
              />
            </li>
          ))}
        </ul>
      )}
      <p className="text-xs text-ink-faint">{hint}</p>
      <span role="status" className="sr-only">
        {said}
      </span>
    </fieldset>
  );
}

/** The chosen directories with the one that still stands in the field. */
export function withTyped(chosen: readonly string[], typed: string): readonly string[] {
  const path = typed.trim();
  return path === "" || chosen.includes(path) ? chosen : [...chosen, path];
}
