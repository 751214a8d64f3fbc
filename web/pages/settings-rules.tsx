import { useState } from "react";
import type { PermissionRule } from "../../src/wire/permission-rules.ts";
import { usePermissionRules, useRemovePermissionRule } from "../api/permission-rules.ts";
import { useMay } from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { QueryState, WithCommands } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { Rows } from "../ui/rows.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";

/** Rules that answer permission requests: what they cover, how often they were used, and who created them. */
export function RuleSettings() {
  return useMay("coding:read") ? <RuleSection /> : null;
}

function RuleSection() {
  const rules = usePermissionRules();
  const mayDrive = useMay("coding:drive");
  const [removing, setRemoving] = useState<PermissionRule | null>(null);
  return (
    <Section
      title="Standing rules"
      description="Answer permission requests before you are asked. Add one with the arrow beside Allow."
    >
      <QueryState query={rules} label="Loading standing rules" rows={2} />
      {rules.data?.rules.length === 0 && <p className="text-sm text-ink-faint">No standing rules.</p>}
      {rules.data !== undefined && rules.data.rules.length > 0 && (
        <Rows label="Standing rules">
          {rules.data.rules.map((rule) => (
            <li key={rule.ruleId} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
              <div className="min-w-52 flex-1">
                <p className="text-sm wrap-anywhere">
                  <WithCommands text={rule.words} /> {rule.effect === "deny" && <Badge tone="danger">Denies</Badge>}
                  {!rule.active && <Badge>Not in force</Badge>}
                </p>
                <p className="mt-0.5 text-2xs text-ink-faint">
                  {rule.uses === 0 ? "Never used" : rule.uses === 1 ? "Used once" : `Used ${rule.uses} times`}
                  {rule.lastUsedAt !== null && (
                    <>
                      , last <RelativeTime at={rule.lastUsedAt} />
                    </>
                  )}
                  {" · "}
                  {expiryWords(rule)} · {creatorWords(rule)}, {exactTime(rule.createdAt)}
                </p>
              </div>
              {mayDrive && (
                <Button aria-label={`Remove the rule: ${rule.words}`} onClick={() => setRemoving(rule)}>
                  Remove…
                </Button>
              )}
            </li>
          ))}
        </Rows>
      )}
      {removing !== null && <RemoveDialog rule={removing} onClose={() => setRemoving(null)} />}
    </Section>
  );
}

function expiryWords({ expiresAt, sessionId }: PermissionRule): string {
  if (expiresAt !== null) return `Expires ${exactTime(expiresAt)}`;
  return sessionId === null ? "Does not expire" : "Ends with its session";
}

const waysWords: Readonly<Record<PermissionRule["createdBy"]["kind"], string>> = {
  socket: " on the command line",
  token: " with a token",
  browser: " in a browser",
  app: " with a connected app",
  jwt: " with an external token",
  open: "",
};

function creatorWords({ createdBy: { name, kind } }: PermissionRule): string {
  return `Added by ${name}${waysWords[kind]}`;
}

function RemoveDialog({ rule, onClose }: { readonly rule: PermissionRule; readonly onClose: () => void }) {
  const remove = useRemovePermissionRule();
  return (
    <ConfirmDialog
      onClose={onClose}
      title="Remove this standing rule?"
      description={
        <>
          <WithCommands text={rule.words} /> It answers nothing from then on.
        </>
      }
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(rule.ruleId, { onSuccess: onClose })}
    />
  );
}
