import { useSearchParams } from "react-router";
import { type AuditEntry, auditKindSchema } from "../../src/wire/accounts.ts";
import { useAudit } from "../api/access.ts";
import { SelectFilter } from "../ui/field.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { DayRows, NextPage } from "../ui/rows.tsx";
import { exactTime } from "../ui/time.tsx";
import { ClaimedName } from "../ui/untrusted.tsx";
import { auditWords, fromWhere, kindWords } from "./audit-words.ts";
import { ScopeBadges } from "./scope-list.tsx";

export function AuditPage() {
  const [params, setParams] = useSearchParams();
  const kind = auditKindSchema.safeParse(params.get("kind")).data ?? null;
  const audit = useAudit(kind);
  const entries = audit.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <Page
      title="Audit log"
      description="Sign-ins and changes of access, newest first. Entries cannot be changed."
      actions={
        <SelectFilter
          label="Kind"
          value={kind ?? ""}
          onChange={({ target }) => setParams(target.value === "" ? {} : { kind: target.value }, { replace: true })}
        >
          <option value="">Everything</option>
          {auditKindSchema.options.map((one) => (
            <option key={one} value={one}>
              {kindWords[one]}
            </option>
          ))}
        </SelectFilter>
      }
    >
      <QueryState query={audit} label="Loading entries" />
      {audit.isSuccess && entries.length === 0 && (
        <EmptyState title={kind === null ? "No entries yet" : "No entries of this kind"} />
      )}
      <DayRows
        things={entries}
        atOf={({ at }) => at}
        stale={audit.isPlaceholderData}
        renderRow={(entry) => <EntryRow key={entry.auditId} entry={entry} />}
      />
      <NextPage
        key={entries.length}
        label="Older entries"
        has={audit.hasNextPage}
        busy={audit.isFetchingNextPage}
        onNext={() => void audit.fetchNextPage()}
      />
    </Page>
  );
}

function EntryRow({ entry }: { readonly entry: AuditEntry }) {
  const { who, did, name, after, scopes, more, alarming } = auditWords(entry);
  return (
    <li className="flex gap-3 px-4 py-2.5">
      <time
        dateTime={entry.at}
        title={exactTime(entry.at)}
        className="w-16 shrink-0 text-xs leading-5.5 whitespace-nowrap text-ink-faint"
      >
        {new Date(entry.at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}
      </time>
      <div className="flex min-w-0 flex-1 flex-col gap-x-4 gap-y-1 sm:flex-row sm:justify-between">
        <div className="flex min-w-0 flex-1 flex-col gap-1">
          <p className={alarming ? "text-danger" : undefined}>
            <ClaimedName name={who} className="font-semibold" /> {did}
            {name !== null && (
              <>
                {" "}
                <ClaimedName name={name} className="font-semibold" />
              </>
            )}
            {after}
          </p>
          {scopes.length > 0 && <ScopeBadges scopes={scopes} />}
          {more.length > 0 && (
            <p className="text-xs text-ink-faint">
              <bdi>{more.join(" · ")}</bdi>
            </p>
          )}
        </div>
        <p className="text-xs text-ink-faint sm:w-56 sm:text-right" title={entry.userAgent ?? undefined}>
          {fromWhere(entry).map((part) => (
            <bdi key={part} className="mr-2 inline-block sm:mr-0 sm:block">
              {part}
            </bdi>
          ))}
        </p>
      </div>
    </li>
  );
}
