import { useCallback } from "react";
import { Link, useSearchParams } from "react-router";
import { type EntityType, entityTypeSchema, type LogEntity } from "../../src/wire/logs.ts";
import { useEntities, useSessionTitles } from "../api/logs.ts";
import { listShortcuts, useShortcuts } from "../app/shortcuts.ts";
import { classNames } from "../ui/class-names.ts";
import { SelectFilter } from "../ui/field.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { NextPage, Rows } from "../ui/rows.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { entityName, isCode, typeOrder, typeWords } from "./facts.ts";
import { EntityIcon, entityPath } from "./links.tsx";
import { AboutMemory, MemoryTabs, SearchBox, useChangeParams } from "./memory-lists.tsx";

const entityListShortcuts = listShortcuts("a[data-entity-link]", "topic");

export function EntitiesPage() {
  const [params] = useSearchParams();
  const type = entityTypeSchema.safeParse(params.get("type")).data ?? "";
  const q = params.get("q")?.trim() ?? "";
  const change = useChangeParams<"q" | "type">();
  const onQuery = useCallback((query: string) => change({ q: query }), [change]);
  const entities = useEntities({ type, q });
  const titles = useSessionTitles();
  const shown = entities.data?.pages.flatMap((page) => page.entities) ?? [];
  useShortcuts(entityListShortcuts);
  return (
    <Page title="Memory" description="What is in memory, by topic.">
      <MemoryTabs />
      <search className="mb-4 flex flex-col gap-2">
        <SearchBox label="Search topics by name" query={q} onQuery={onQuery} />
        <TypeChoice chosen={type} onChoose={(one) => change({ type: one })} />
      </search>
      <QueryState query={entities} label="Loading topics" />
      {entities.isSuccess &&
        shown.length === 0 &&
        (type === "" && q === "" ? <AboutMemory /> : <EmptyState title="Not found" />)}
      {shown.length > 0 && (
        <div className={classNames(entities.isPlaceholderData && "opacity-60")}>
          <Rows label="Topics">
            {shown.map((entity) => (
              <EntityRow key={entity.entityId} entity={entity} titles={titles} />
            ))}
          </Rows>
        </div>
      )}
      <NextPage
        key={shown.length}
        label="More topics"
        has={entities.hasNextPage}
        busy={entities.isFetchingNextPage}
        onNext={() => void entities.fetchNextPage()}
      />
    </Page>
  );
}

function TypeChoice({
  chosen,
  onChoose,
}: {
  readonly chosen: EntityType | "";
  readonly onChoose: (type: EntityType | "") => void;
}) {
  return (
    <>
      <SelectFilter
        label="Kind"
        value={chosen}
        onChange={({ target }) => onChoose(entityTypeSchema.safeParse(target.value).data ?? "")}
        className="sm:hidden"
      >
        <option value="">All kinds</option>
        {typeOrder.map((type) => (
          <option key={type} value={type}>
            {typeWords[type][1]}
          </option>
        ))}
      </SelectFilter>
      <TypeChips chosen={chosen} onChoose={onChoose} />
    </>
  );
}

function TypeChips({ chosen, onChoose }: Parameters<typeof TypeChoice>[0]) {
  return (
    <fieldset className="hidden flex-wrap gap-1.5 sm:flex">
      <legend className="sr-only">Kind</legend>
      {(["", ...typeOrder] as const).map((type) => (
        <label
          key={type}
          className={classNames(
            "inline-flex h-7 cursor-pointer items-center gap-1.5 rounded-full border px-2.5 text-xs select-none pointer-coarse:h-10 pointer-coarse:px-3.5",
            "has-focus-visible:outline-2 has-focus-visible:outline-accent",
            chosen === type
              ? "border-transparent bg-accent-soft font-medium text-accent"
              : "border-line text-ink-soft hover:border-line-strong",
          )}
        >
          <input
            type="radio"
            name="kind"
            className="sr-only"
            checked={chosen === type}
            onChange={() => onChoose(type)}
          />
          {type !== "" && <EntityIcon type={type} />}
          {type === "" ? "All" : typeWords[type][1]}
        </label>
      ))}
    </fieldset>
  );
}

function EntityRow({ entity, titles }: { readonly entity: LogEntity; readonly titles: ReadonlyMap<string, string> }) {
  const { type, key } = entity;
  return (
    <li>
      <Link
        to={entityPath(entity)}
        data-entity-link
        className="flex items-center gap-3 px-4 py-2.5 -outline-offset-2 hover:bg-hover"
      >
        <EntityIcon type={type} className="size-4" />
        <bdi
          className={classNames("min-w-0 flex-1 truncate", isCode(type) ? "font-mono text-xs" : "font-medium")}
          title={plainName(key)}
        >
          {type === "Session" ? entityName(entity, titles) : plainName(key)}
        </bdi>
        <span className="shrink-0 text-2xs text-ink-faint">{typeWords[type][0]}</span>
      </Link>
    </li>
  );
}
