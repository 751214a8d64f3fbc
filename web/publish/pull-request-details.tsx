import { CircleCheck, CircleDashed, CircleSlash, CircleX, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { CheckState, PullRequest } from "../../src/wire/pull-requests.ts";
import { Markdown } from "../session/markdown-view.tsx";
import { counted } from "../session/session-words.ts";
import { classNames } from "../ui/class-names.ts";
import { Scrollable } from "../ui/page.tsx";
import { RelativeTime } from "../ui/time.tsx";
import { ClaimedName, plainName, webAddress } from "../ui/untrusted.tsx";

const states: Readonly<
  Record<CheckState, { readonly words: string; readonly icon: LucideIcon; readonly tone: string }>
> = {
  failed: { words: "failed", icon: CircleX, tone: "text-danger" },
  pending: { words: "pending", icon: CircleDashed, tone: "text-lamp" },
  passed: { words: "passed", icon: CircleCheck, tone: "text-accent" },
  skipped: { words: "skipped", icon: CircleSlash, tone: "text-ink-faint" },
};
const order = ["failed", "pending", "passed", "skipped"] as const;

/** The checks, failed ones first. Their number by state is announced when it changes. */
export function Checks({ checks }: Pick<PullRequest, "checks">) {
  const sums = order.flatMap((state) => {
    const count = checks.filter((check) => check.state === state).length;
    return count === 0 ? [] : [`${count.toLocaleString("en")} ${states[state].words}`];
  });
  const sorted = order.flatMap((state) => checks.filter((check) => check.state === state));
  return (
    <div>
      <p role="status" className="text-xs text-ink-soft">
        {sums.length === 0 ? "No checks." : `${counted(checks.length, "check")}: ${sums.join(", ")}`}
      </p>
      {sorted.length > 0 && (
        <Scrollable label="Checks" className="mt-1 max-h-[24dvh] overflow-y-auto rounded-lg border border-line">
          <ul className="divide-y divide-line">
            {sorted.map((check, index) => (
              // Names can repeat, for example in two workflows.
              <Check key={index} check={check} />
            ))}
          </ul>
        </Scrollable>
      )}
    </div>
  );
}

function Check({ check: { name, state, url, summary } }: { readonly check: PullRequest["checks"][number] }) {
  const { words, icon: Icon, tone } = states[state];
  return (
    <li className="px-3 py-1.5 text-xs">
      <div className="flex items-center gap-2">
        <Icon aria-hidden className={classNames("size-3.5 shrink-0", tone)} />
        <span className="min-w-0 flex-1">
          <ForgeLink url={url}>{plainName(name)}</ForgeLink>
        </span>
        <span className={classNames("shrink-0", tone)}>{words}</span>
      </div>
      {summary !== null && state === "failed" && (
        <p className="mt-0.5 line-clamp-4 pl-5.5 whitespace-pre-wrap text-ink-soft wrap-anywhere">{summary}</p>
      )}
    </li>
  );
}

/** Comments of the pull request, with the file and line that they are about. */
export function Comments({ comments }: Pick<PullRequest, "comments">) {
  if (comments.length === 0) return null;
  return (
    <div>
      <p className="text-xs text-ink-soft">{counted(comments.length, "comment")}</p>
      <Scrollable label="Comments" className="mt-1 max-h-[32dvh] overflow-y-auto rounded-lg border border-line">
        <ul className="divide-y divide-line">
          {comments.map(({ author, body, path, line, url, createdAt }, index) => (
            <li key={index} className="px-3 py-2 text-sm">
              <div className="mb-1 flex flex-wrap items-baseline gap-x-2 text-xs text-ink-soft">
                <span className="font-medium text-ink">
                  <ClaimedName name={author} />
                </span>
                {path !== null && (
                  <span className="font-mono wrap-anywhere">
                    {plainName(path)}
                    {line !== null && `:${line}`}
                  </span>
                )}
                <ForgeLink url={url}>
                  <RelativeTime at={createdAt} />
                </ForgeLink>
              </div>
              <div className="wrap-anywhere">
                <Markdown text={body} />
              </div>
            </li>
          ))}
        </ul>
      </Scrollable>
    </div>
  );
}

/** A link of the forge, if it is http or https. */
export function ForgeLink({ url, children }: { readonly url: string | null; readonly children: ReactNode }) {
  const href = url === null ? null : webAddress(url);
  if (href === null) return children;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      className="text-accent underline underline-offset-2 wrap-anywhere"
    >
      {children}
    </a>
  );
}
