import {
  Bot,
  Check,
  ChevronRight,
  Circle,
  CircleCheck,
  CircleDot,
  CircleHelp,
  CircleX,
  FilePen,
  FileText,
  Globe,
  ListTodo,
  LoaderCircle,
  type LucideIcon,
  Minus,
  Search,
  SquareTerminal,
  Wrench,
} from "lucide-react";
import { Fragment, useContext, useMemo, useState } from "react";
import type { Block } from "../../src/wire/turn.ts";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Scrollable } from "../ui/page.tsx";
import { type AnsiStyle, plainStyle, readAnsi, withoutAnsi } from "./ansi.ts";
import { Code, DiffCount, DiffView } from "./code-block.tsx";
import { countOfDiff } from "./line-diff.ts";
import { Markdown } from "./markdown-view.tsx";
import { ResultImages } from "./pictures.tsx";
import {
  fileOfResult,
  kindOfTool,
  type PlanStep,
  summaryOfTool,
  type ToolKind,
  toolName,
  viewOfTool,
} from "./tool-summary.ts";
import { SearchedText } from "./turn-search.tsx";

export type Call = Extract<Block, { type: "tool_call" }>;

const icons: Readonly<Record<ToolKind, LucideIcon>> = {
  edit: FilePen,
  read: FileText,
  command: SquareTerminal,
  search: Search,
  web: Globe,
  plan: ListTodo,
  task: Bot,
  question: CircleHelp,
  other: Wrench,
};

/** Longer diffs are shown on request. */
const maxOpenLines = 60;

export function ToolCall({
  call,
  running,
  quiet = false,
}: {
  readonly call: Call;
  /** Whether a result may still arrive. */
  readonly running: boolean;
  /** Closed at first. */
  readonly quiet?: boolean;
}) {
  const { name, input, result } = call;
  const searched = useContext(SearchedText);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const kind = useMemo(() => kindOfTool({ name, input }), [name, input]);
  const opens = useMemo(() => !quiet && opensAtFirst(input), [quiet, input]);
  const open = chosen ?? (opens || (searched !== "" && callContains(call, searched)));
  const images = result?.images ?? [];
  const Icon = icons[kind];
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-panel">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setChosen(!open)}
        className="flex w-full min-w-0 items-center gap-2 px-2.5 py-1.5 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
      >
        <ChevronRight aria-hidden className={classNames("size-3.5 shrink-0 text-ink-faint", open && "rotate-90")} />
        <Icon aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
        <span className="shrink-0 font-medium">{toolName(name)}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-2xs text-ink-faint">{summaryOfTool(input)}</span>
        <Outcome result={result} running={running} />
      </button>
      {images.length > 0 && (open || !quiet) && <ResultImages call={call.id} images={images} />}
      {open && (
        <div className="border-t border-line">
          <ToolInput input={input} />
          {result !== null && !(images.length > 0 && onlyImages.test(result.text)) && (
            <Result call={call} result={result} kind={kind} />
          )}
        </div>
      )}
    </div>
  );
}

/** The text of a result that contains only images. */
const onlyImages = /^(?:\s*\[image\])+\s*$/;

/** Whether a call is expanded at first. Users read most changes and plans. */
function opensAtFirst(input: unknown): boolean {
  const view = viewOfTool(input);
  if (view.kind === "checklist") return true;
  return view.kind === "edits" && view.files.reduce((sum, { lines }) => sum + lines.length, 0) <= maxOpenLines;
}

/** Whether a call contains this text, in lower case. */
export function callContains({ input, result }: Pick<Call, "input" | "result">, text: string): boolean {
  if (result !== null && result.text.toLowerCase().includes(text)) return true;
  return inside(input).some((part) => part.toLowerCase().includes(text));
}

function inside(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(inside) : [];
}

function Checklist({ steps }: { readonly steps: readonly PlanStep[] }) {
  return (
    <ul className="flex flex-col gap-1 px-3 py-2 text-sm">
      {steps.map(({ text, state }, index) => (
        <li key={index} className="flex items-start gap-2">
          <StepMark state={state} />
          <span
            className={classNames(
              state === "done" && "text-ink-faint line-through",
              state === "current" && "font-medium",
            )}
          >
            {text}
          </span>
        </li>
      ))}
    </ul>
  );
}

function StepMark({ state }: Pick<PlanStep, "state">) {
  const look = "mt-1 size-3.5 shrink-0";
  if (state === "done") return <CircleCheck role="img" aria-label="Done" className={`${look} text-accent`} />;
  if (state === "current") return <CircleDot role="img" aria-label="In progress" className={`${look} text-lamp`} />;
  return <Circle role="img" aria-label="To do" className={`${look} text-ink-faint`} />;
}

export function ToolInput({ input }: { readonly input: unknown }) {
  const view = viewOfTool(input);
  switch (view.kind) {
    case "edits":
      return view.files.map(({ path, lines }) => (
        <div key={path} className="border-b border-line last:border-0">
          <div className="flex items-center gap-2 py-0.5 pr-1 pl-3 text-ink-soft">
            {/* Shown in full, because the user decides a permission based on it. */}
            <span className="min-w-0 flex-1 py-0.5 font-mono text-2xs wrap-anywhere">
              {path.split("/").map((part, index) => (
                <Fragment key={index}>
                  {index > 0 && "/"}
                  {index > 0 && <wbr />}
                  {part}
                </Fragment>
              ))}
            </span>
            <DiffCount {...countOfDiff(lines)} />
            <CopyButton text={path} label="Copy path" />
          </div>
          <div className="max-h-96 overflow-y-auto bg-well">
            <DiffView lines={lines} label={`Changes of ${path}`} />
          </div>
        </div>
      ));
    case "checklist":
      return <Checklist steps={view.steps} />;
    case "command":
      return <Sheet label="Command" text={view.command} language="bash" />;
    case "code":
      return <Sheet label="Input" text={view.text} language={view.language} />;
    case "json":
      return <Sheet label="Input" text={view.text} language="json" />;
  }
}

function Result(props: { readonly call: Call; readonly result: NonNullable<Call["result"]>; readonly kind: ToolKind }) {
  const { call, result, kind } = props;
  const { ok, text, truncated } = result;
  const file = ok && text !== "" ? fileOfResult(call, text) : null;
  // The result only repeats the list, or the change.
  if (ok && (kind === "plan" || kind === "edit")) return null;
  if (text === "")
    return (
      <p className="border-t border-line px-3 py-1.5 text-xs text-ink-faint">
        {ok ? "No output." : "Failed with no output."}
      </p>
    );
  return (
    <div className="border-t border-line">
      {file !== null ? (
        <Sheet label="Result" text={file.text} language={file.language} numbers={file.numbers} />
      ) : ok && kind === "task" ? (
        <div className="px-3 py-2 text-sm">
          <Markdown text={text} />
        </div>
      ) : (
        <Sheet label={ok ? "Result" : "Failed"} text={text} language="output" />
      )}
      {truncated && <p className="px-3 pb-1.5 text-2xs text-ink-faint">Output truncated.</p>}
    </div>
  );
}

function Sheet(props: {
  readonly label: string;
  readonly text: string;
  /** `output` is program output, with colours. */
  readonly language: string;
  /** The numbers of the lines, one below the other. */
  readonly numbers?: string;
}) {
  const { label, text, language, numbers = "" } = props;
  return (
    <div className="bg-well">
      <div className="flex items-center justify-between pr-1 pl-3">
        <span className="label-caps">{label}</span>
        <CopyButton text={withoutAnsi(text)} label={`Copy the ${label.toLowerCase()}`} />
      </div>
      <Scrollable label={label} className="max-h-96 overflow-auto">
        {numbers === "" ? (
          <pre className="px-3 pb-2 font-mono text-xs leading-5 whitespace-pre-wrap">
            {language === "output" ? <AnsiText text={text} /> : <Code text={text} language={language} />}
          </pre>
        ) : (
          <div className="flex w-max min-w-full gap-3 px-3 pb-2 font-mono text-xs leading-5 whitespace-pre">
            <pre aria-hidden className="text-right text-ink-faint select-none">
              {numbers}
            </pre>
            <pre>
              <Code text={text} language={language} />
            </pre>
          </div>
        )}
      </Scrollable>
    </div>
  );
}

function Outcome({ result, running }: { readonly result: Call["result"]; readonly running: boolean }) {
  if (result === null && !running) {
    return <Minus role="img" aria-label="No result" className="size-3.5 shrink-0 text-ink-faint" />;
  }
  if (result === null) {
    return <LoaderCircle role="img" aria-label="Running" className="size-3.5 shrink-0 animate-spin text-ink-faint" />;
  }
  if (result.ok) return <Check role="img" aria-label="Done" className="size-3.5 shrink-0 text-accent" />;
  return <CircleX role="img" aria-label="Failed" className="size-3.5 shrink-0 text-danger" />;
}

/** Black and white become the text colour, to stay readable on both themes. */
const colours = [
  "",
  "text-danger",
  "text-diff-added",
  "text-lamp",
  "text-code-name",
  "text-code-keyword",
  "text-code-title",
  "",
] as const;
const grounds = [
  "bg-line",
  "bg-danger-soft",
  "bg-diff-added-soft",
  "bg-lamp-soft",
  "bg-line",
  "bg-line",
  "bg-accent-soft",
  "bg-line",
] as const;

function AnsiText({ text }: { readonly text: string }) {
  const pieces = useMemo(() => readAnsi(text), [text]);
  return (
    <code>
      {pieces.map(({ text: part, style }, index) =>
        style === plainStyle ? (
          part
        ) : (
          <span key={index} className={classOf(style)}>
            {part}
          </span>
        ),
      )}
    </code>
  );
}

function classOf({ colour, background, bold, dim, italic, underline, struck }: AnsiStyle): string {
  return classNames(
    colour === null ? dim && "text-ink-faint" : colours[colour],
    background !== null && grounds[background],
    bold && "font-semibold",
    italic && "italic",
    underline && "underline",
    struck && "line-through",
  );
}
