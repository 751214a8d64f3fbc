import { useState } from "react";
import type { RuleTool } from "../../src/wire/permission-rules.ts";
import { usePermissionRulesPreview } from "../api/permission-rules.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { CheckField, TextField, useSettled } from "../ui/field.tsx";
import { ErrorNotice, LoadingRows, Notice, WithCommands } from "../ui/notice.tsx";
import type { PermissionAnswer } from "./question-form.tsx";
import type { RememberChoice } from "./remember-menu.tsx";

const filesHint = "* stands for any name, ** for any folders.";
const fields: Readonly<Record<RuleTool, { readonly label: string; readonly hint: string }>> = {
  command: { label: "Commands that start with", hint: "More words make the rule narrower, fewer make it wider." },
  edit: { label: "Files to create and change", hint: filesHint },
  read: { label: "Files to read", hint: filesHint },
};

/** Shows the rules that an answer adds, in the gateway's words, and lets the user change them, before anything is saved. */
export function RememberDialog(props: {
  readonly request: { readonly sessionId: string; readonly permissionId: string };
  readonly choice: RememberChoice;
  readonly act: { readonly isPending: boolean; readonly error: Error | null };
  readonly onAnswer: (answer: PermissionAnswer) => void;
  readonly onClose: () => void;
}) {
  const { request, choice, act, onAnswer, onClose } = props;
  /** One pattern per line; null for the gateway's proposal. */
  const [typed, setTyped] = useState<string | null>(null);
  const [again, setAgain] = useState<Readonly<Record<string, string>>>({});
  const [undriven, setUndriven] = useState(false);
  const [answered, setAnswered] = useState(false);
  const settled = useSettled(typed ?? "", 250);
  const place = {
    for: choice.for,
    ...(choice.until !== undefined && { until: choice.until }),
    ...(choice.for === "folder" && { undriven }),
  };
  const { data, error, isFetching, isPlaceholderData } = usePermissionRulesPreview({
    ...request,
    remember: { ...place, ...(settled !== "" && { patterns: linesOf(settled) }) },
  });
  const shown = typed?.split("\n") ?? data?.rules.map(({ pattern }) => pattern) ?? [];
  const patterns = shown.map((pattern) => pattern.trim());
  // Only what these words describe is saved.
  const rules =
    isFetching || isPlaceholderData || error !== null || data === undefined
      ? null
      : data.rules.map(({ pattern }) => pattern).join("\n") === patterns.join("\n")
        ? data.rules
        : null;
  const isConfirmed = (rules ?? []).every(({ pattern, tooBroad }) => tooBroad === null || again[pattern] === pattern);
  const counts = data?.covers === true || data?.undriven === true;
  const save = (): void => {
    if (rules === null || rules.length === 0 || !isConfirmed || !counts) return;
    setAnswered(true);
    const confirm = rules.filter(({ tooBroad }) => tooBroad !== null).map(({ pattern }) => pattern);
    onAnswer({
      decision: "allow",
      remember: { ...place, patterns, ...(confirm.length > 0 && { confirm }) },
    });
  };
  const field = fields[data?.rules[0]?.tool ?? "command"];
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={save}
      title="Allow and remember"
      submit="Allow and remember"
      busy={act.isPending}
      disabled={rules === null || rules.length === 0 || !isConfirmed || !counts}
      error={answered ? act.error : null}
    >
      {data === undefined && error === null && <LoadingRows label="Loading the rule" />}
      {typeof data?.refusal === "string" && (
        <Notice>
          <WithCommands text={data.refusal} />
        </Notice>
      )}
      {shown.map((pattern, index) => {
        const rule = rules?.[index];
        return (
          // Patterns keep their places.
          <div key={index} className="flex flex-col gap-2">
            <TextField
              label={shown.length === 1 ? field.label : `${field.label} (${index + 1} of ${shown.length})`}
              hint={index === shown.length - 1 ? field.hint : undefined}
              value={pattern}
              maxLength={1_000}
              spellCheck={false}
              autoCapitalize="none"
              className="font-mono"
              onChange={({ target }) =>
                setTyped(shown.map((one, at) => (at === index ? target.value : one)).join("\n"))
              }
            />
            {typeof rule?.tooBroad === "string" && (
              <Notice tone="lamp">
                <p>
                  <WithCommands text={rule.tooBroad} />
                </p>
                <TextField
                  label="Type it again to allow it anyway"
                  className="mt-2"
                  value={again[rule.pattern] ?? ""}
                  spellCheck={false}
                  autoCapitalize="none"
                  onChange={({ target }) => setAgain({ ...again, [rule.pattern]: target.value })}
                />
              </Notice>
            )}
          </div>
        );
      })}
      {data?.undriven === true && choice.for === "folder" && (
        <CheckField
          label="Also apply after prompts from callers that cannot answer requests"
          hint="This session received such a prompt, so without this option the rule does not apply in it."
          checked={undriven}
          onChange={({ target }) => setUndriven(target.checked)}
        />
      )}
      <div role="status" className="min-h-10">
        {rules !== null && rules.length > 0 && (
          <ul
            aria-label="The rule in words"
            className="flex flex-col gap-1 rounded-lg bg-well px-3 py-2 text-sm wrap-anywhere"
          >
            {rules.map(({ words }) => (
              <li key={words}>
                <WithCommands text={words} />
              </li>
            ))}
          </ul>
        )}
        {rules !== null && rules.length > 0 && !counts && (
          <p className="mt-2 text-sm text-danger">This does not cover the request that waits. Change it to continue.</p>
        )}
      </div>
      <ErrorNotice error={error} />
    </FormDialog>
  );
}

function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim());
}
