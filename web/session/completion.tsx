import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { File, Folder, Sparkles, SquareSlash, SquareTerminal } from "lucide-react";
import { type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { type CompletionItem, completionsSchema } from "../../src/wire/completion.ts";
import { reading } from "../api/client.ts";
import { classNames } from "../ui/class-names.ts";
import { ClaimedName } from "../ui/untrusted.tsx";
import { type CompletedWord, complete, stillMatching, wordAt } from "./completion-word.ts";

/** The agent and directory to complete for: a session's, or those of a new one. */
export type CompletionPlace = { readonly sessionId: string } | { readonly agent: string; readonly dir: string };

const maxShown = 20;
const noItems: readonly CompletionItem[] = [];

/** Completes `@file`, `/command` and `$skill` in a textarea. Typing never waits for it. */
export function useCompletion(props: {
  readonly box: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** Null completes nothing. */
  readonly place: CompletionPlace | null;
  /** Where the list opens. */
  readonly side?: "above" | "below";
}) {
  const { box, text, onChange, place, side = "above" } = props;
  const id = useId();
  const [caret, setCaret] = useState<number | null>(null);
  /** The word for which the list was closed, with Escape or by choosing an item. */
  const [closedAt, setClosedAt] = useState<number | null>(null);
  const [chosen, setChosen] = useState({ at: 0, of: "" });
  const nextCaret = useRef<number | null>(null);
  const word = caret === null || place === null ? null : wordAt(text, Math.min(caret, text.length));
  const open = word !== null && word.from !== closedAt;
  const items = useItems(open ? word : null, place);
  const shown = open && items.length > 0;
  const commands = useCommands(items, place);
  const of = `${word?.from} ${word?.q}`;
  const at = chosen.of === of ? Math.min(chosen.at, items.length - 1) : 0;

  useLayoutEffect(() => {
    if (nextCaret.current === null) return;
    box.current?.setSelectionRange(nextCaret.current, nextCaret.current);
    nextCaret.current = null;
  });

  const follow = (): void => {
    const element = box.current;
    const next = element === null || element.selectionStart !== element.selectionEnd ? null : element.selectionStart;
    setCaret(next);
    if (next === null || wordAt(element?.value ?? "", next)?.from !== closedAt) setClosedAt(null);
  };
  const take = (item: CompletionItem): void => {
    if (word === null || caret === null) return;
    const done = complete(text, { word, caret, item });
    nextCaret.current = done.caret;
    setCaret(done.caret);
    onChange(done.text);
    box.current?.focus();
  };
  /** @returns whether the key was for the list */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const item = items[at];
    if (!shown || item === undefined || event.nativeEvent.isComposing || event.altKey || event.ctrlKey || event.metaKey)
      return false;
    const isWhole = word !== null && text.slice(word.from, caret ?? 0) === item.insert;
    if (event.key === "ArrowDown") setChosen({ at: (at + 1) % items.length, of });
    else if (event.key === "ArrowUp") setChosen({ at: (at + items.length - 1) % items.length, of });
    else if (event.key === "Escape") setClosedAt(word?.from ?? null);
    // After a complete word, Enter sends the prompt.
    else if ((event.key === "Enter" && !event.shiftKey && !isWhole) || (event.key === "Tab" && !event.shiftKey))
      take(item);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return {
    onKeyDown,
    /** For the textarea. It is a combobox while the list is open. */
    attributes: {
      "aria-autocomplete": "list",
      ...(shown
        ? {
            role: "combobox",
            "aria-expanded": true,
            "aria-controls": `${id}-list`,
            "aria-activedescendant": `${id}-${at}`,
          }
        : {}),
      onSelect: follow,
      onBlur: () => setCaret(null),
    } as const,
    list: shown ? (
      <CompletionList {...{ id, items, at, side }} onTake={take} onPoint={(index) => setChosen({ at: index, of })} />
    ) : null,
    /** Whether the text begins with a listed command, so that it can be sent as a command. */
    isCommand: (prompt: string): boolean => commands.current.names.has(/^\/\S+/.exec(prompt.trim())?.[0] ?? ""),
    /** Read out when the list changes. */
    announcement: shown ? `${items.length} ${items.length === 1 ? "suggestion" : "suggestions"}` : "",
  };
}

/** Matching items of the last response, until there is a newer one. */
function useItems(word: CompletedWord | null, place: CompletionPlace | null): readonly CompletionItem[] {
  const kind = word?.kind === "file" ? "file" : "command";
  const q = word?.q ?? "";
  const { data, isPlaceholderData } = useQuery({
    queryKey: ["completions", place, kind, q],
    enabled: word !== null && place !== null,
    queryFn: ({ signal }) =>
      reading.completePrompt({ ...place, kind, q, limit: maxShown }, { signal, output: completionsSchema }),
    placeholderData: (before, query) => (query?.queryKey[2] === kind ? keepPreviousData(before) : undefined),
    retry: false,
    // The gateway is still listing a large directory.
    refetchInterval: ({ state }) => (state.data?.truncated === true && state.data.items.length === 0 ? 1_000 : false),
    staleTime: 2_000,
    gcTime: 30_000,
  });
  if (word === null || data === undefined) return noItems;
  const items = isPlaceholderData ? stillMatching(data.items, q) : data.items;
  return word.kind === "skill" ? items.filter((item) => item.kind === "skill") : items;
}

/** The commands that were listed for this place. The gateway checks them again. */
function useCommands(items: readonly CompletionItem[], place: CompletionPlace | null) {
  const of = JSON.stringify(place);
  const listed = useRef({ of, names: new Set<string>() });
  useEffect(() => {
    if (listed.current.of !== of) listed.current = { of, names: new Set() };
    for (const { kind, insert } of items) if (kind === "command") listed.current.names.add(insert);
  }, [items, of]);
  return listed;
}

const icons = { file: File, folder: Folder, command: SquareSlash, terminal_command: SquareTerminal, skill: Sparkles };

function CompletionList(props: {
  readonly id: string;
  readonly items: readonly CompletionItem[];
  readonly at: number;
  readonly side: "above" | "below";
  readonly onTake: (item: CompletionItem) => void;
  readonly onPoint: (index: number) => void;
}) {
  const { id, items, at, side, onTake, onPoint } = props;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <ul
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label="Suggestions"
      className={classNames(
        "absolute inset-x-0 z-30 max-h-[min(20rem,40dvh)] overflow-y-auto overscroll-contain rounded-xl border border-line bg-raised p-1 shadow-float",
        side === "above" ? "bottom-full mb-2" : "top-full mt-1",
      )}
    >
      {items.map((item, index) => {
        const Icon = icons[item.kind];
        return (
          <li
            key={`${item.kind} ${item.label}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            // Keeps the focus in the prompt box.
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => index !== at && onPoint(index)}
            onClick={() => onTake(item)}
            className={classNames(
              "flex min-w-0 cursor-pointer items-center gap-2 rounded-lg px-2 py-1.5 text-xs pointer-coarse:py-2.5",
              index === at && "bg-hover",
            )}
          >
            <Icon aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
            <ItemText {...item} />
          </li>
        );
      })}
    </ul>
  );
}

/** Shows the file name before its path, whose beginning can be cut off. A command is shown with its description. */
function ItemText({ kind, label, detail }: CompletionItem) {
  if (kind !== "file" && kind !== "folder") {
    return (
      <>
        <span className="max-w-[60%] shrink-0 truncate font-mono">
          <ClaimedName name={label} />
        </span>
        {detail !== "" && (
          <span className="min-w-0 flex-1 truncate text-ink-faint">
            <ClaimedName name={detail} />
          </span>
        )}
      </>
    );
  }
  const base = label.lastIndexOf("/", label.length - 2) + 1;
  return (
    <>
      <span className="max-w-[70%] shrink-0 truncate font-mono">
        <ClaimedName name={label.slice(base)} />
      </span>
      {base > 0 && (
        <span className="min-w-0 flex-1 truncate font-mono text-ink-faint">
          <ClaimedName name={label.slice(0, base - 1)} />
        </span>
      )}
    </>
  );
}
