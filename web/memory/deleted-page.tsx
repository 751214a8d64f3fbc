import { useEffect, useRef } from "react";
import { Link } from "react-router";
import type { LogDeletion } from "../../src/wire/logs.ts";
import { buttonClass } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";
import { derivedWords } from "./deletion-words.ts";

/** In the place of an entry that was deleted: what went with it, in numbers. */
export function DeletedPage({ deletion }: { readonly deletion: LogDeletion }) {
  const said = useRef<HTMLDivElement>(null);
  useEffect(() => said.current?.focus(), []);
  const rows = derivedWords(deletion.deleted);
  return (
    <Page title="Deleted">
      <div
        ref={said}
        tabIndex={-1}
        role="status"
        className="rounded-xl border border-line bg-panel px-5 py-4 focus:outline-none"
      >
        <p>{deletion.message}</p>
        <dl className="mt-4 flex flex-wrap gap-x-8 gap-y-3">
          {[
            { count: deletion.deleted.episode ? 1 : 0, what: deletion.deleted.episode ? "episode" : "episodes" },
            ...rows,
          ].map(({ count, what }) => (
            <div key={what} className="flex flex-col-reverse">
              <dt className="text-xs text-ink-faint">{what}</dt>
              <dd className="text-2xl font-semibold tracking-tight tabular-nums">{count.toLocaleString("en")}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Link to="/memory" className={`${buttonClass()} mt-4`}>
        To the memory
      </Link>
    </Page>
  );
}
