import { graveScopes, type Scope, scopeWords } from "../../src/wire/access.ts";
import { capital } from "../session/session-words.ts";
import { Badge } from "../ui/badge.tsx";
import { CheckFields } from "../ui/field.tsx";

const grave: ReadonlySet<Scope> = new Set([...graveScopes, "admin"]);

export function ScopeBadges({ scopes }: { readonly scopes: readonly Scope[] }) {
  return (
    <ul aria-label="Scopes" className="flex flex-wrap gap-1">
      {scopes.map((scope) => (
        <li key={scope} title={`${scope}: ${scopeWords[scope].sentence}`}>
          <Badge tone={grave.has(scope) ? "lamp" : "plain"}>{scopeWords[scope].short}</Badge>
        </li>
      ))}
    </ul>
  );
}

export function ScopeChoice(props: {
  readonly legend: string;
  readonly offered: readonly Scope[];
  readonly chosen: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
}) {
  const { legend, offered, chosen, onChange } = props;
  const options = offered.map((scope) => ({
    value: scope,
    label: (
      <>
        {capital(scopeWords[scope].short)} <code className="ml-1 text-xs font-normal text-ink-faint">{scope}</code>
      </>
    ),
    hint: scopeWords[scope].sentence,
  }));
  return <CheckFields {...{ legend, options, chosen, onChange }} />;
}
