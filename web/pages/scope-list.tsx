import type { Scope } from "../../src/wire/access.ts";
import { scopeWords } from "../../src/wire/access.ts";
import { Badge } from "../ui/badge.tsx";
import { CheckField } from "../ui/field.tsx";

/** Scopes that let somebody act as the owner. */
const grave: ReadonlySet<Scope> = new Set(["coding:drive", "admin"]);

/** What somebody may do, a word or two each. */
export function ScopeBadges({ scopes }: { readonly scopes: readonly Scope[] }) {
  return (
    <ul aria-label="May" className="flex flex-wrap gap-1">
      {scopes.map((scope) => (
        <li key={scope} title={`${scope}: ${scopeWords[scope].sentence}`}>
          <Badge tone={grave.has(scope) ? "lamp" : "plain"}>{scopeWords[scope].short}</Badge>
        </li>
      ))}
    </ul>
  );
}

/** Chooses some of `offered`. */
export function ScopeChoice({
  legend,
  offered,
  chosen,
  onChange,
}: {
  readonly legend: string;
  readonly offered: readonly Scope[];
  readonly chosen: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
}) {
  return (
    <fieldset>
      <legend className="mb-1 text-xs font-medium text-ink-soft">{legend}</legend>
      {offered.map((scope) => (
        <CheckField
          key={scope}
          label={
            <>
              {capital(scopeWords[scope].short)}{" "}
              <code className="ml-1 text-xs font-normal text-ink-faint">{scope}</code>
            </>
          }
          hint={scopeWords[scope].sentence}
          checked={chosen.includes(scope)}
          onChange={(event) =>
            onChange(event.target.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
          }
        />
      ))}
    </fieldset>
  );
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
