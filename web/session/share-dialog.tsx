import { useState } from "react";
import { createdShareSchema, type Share, shareListSchema } from "../../src/wire/sharing.ts";
import { acting, reading } from "../api/client.ts";
import { useChange, useRead, useRemove } from "../api/query.ts";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/field.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";
import { Rows } from "../ui/rows.tsx";
import { exactTime, useNow } from "../ui/time.tsx";
import { countedTimes, expiryWords } from "./share-words.ts";

const daySeconds = 86_400;
const lifetimes = [
  ["3600", "1 hour"],
  [`${daySeconds}`, "1 day"],
  [`${7 * daySeconds}`, "7 days"],
  [`${30 * daySeconds}`, "30 days"],
] as const;

/** Creates, lists and revokes read-only links to one session. */
export function ShareDialog({ sessionId, onClose }: { readonly sessionId: string; readonly onClose: () => void }) {
  const key = ["shares", sessionId];
  const nowMs = useNow();
  const [expiresIn, setExpiresIn] = useState(`${7 * daySeconds}`);
  const list = useRead(key, ({ signal }) => reading.listShares({ sessionId }, { signal, output: shareListSchema }), {
    staleTime: 0,
  });
  const create = useChange(
    key,
    () => acting.shareSession({ sessionId, expiresIn: Number(expiresIn) }, { output: createdShareSchema }),
    { gcTime: 0 },
  );
  const revoke = useRemove((shareId) => acting.revokeShare({ sessionId, shareId }), key);
  const created = list.data?.shares.some(({ shareId }) => shareId === create.data?.shareId) ? create.data : undefined;
  return (
    <Dialog
      onClose={onClose}
      title="Share this conversation"
      description="Anyone with the link can read the conversation, including later turns, but not the terminal. Text that looks like a secret is masked; images are shown as they are."
    >
      <div className="flex items-end gap-2">
        <SelectField
          label="Link expires after"
          value={expiresIn}
          onChange={(event) => setExpiresIn(event.target.value)}
          className="flex-1"
        >
          {lifetimes.map(([seconds, words]) => (
            <option key={seconds} value={seconds}>
              {words}
            </option>
          ))}
        </SelectField>
        <Button variant="primary" busy={create.isPending} onClick={() => create.mutate()}>
          Create link
        </Button>
      </div>
      <ErrorNotice error={create.error} className="mt-3" />
      {created !== undefined && (
        <div className="mt-4">
          <CopyField label="Link" text={created.url}>
            Copy it now: it is shown only once. {expiryWords(created.expiresAt, nowMs)}.
          </CopyField>
        </div>
      )}
      <h3 className="label-caps mt-5 mb-1.5">Active links</h3>
      <QueryState query={list} label="Loading links" rows={1} />
      <ErrorNotice error={revoke.error} className="mb-2" />
      {list.data?.shares.length === 0 && <p className="text-sm text-ink-faint">No links.</p>}
      {list.data !== undefined && list.data.shares.length > 0 && (
        <Rows label="Active links">
          {list.data.shares.map((share) => (
            <ShareRow
              key={share.shareId}
              share={share}
              busy={revoke.isPending && revoke.variables === share.shareId}
              onRevoke={() => revoke.mutate(share.shareId)}
            />
          ))}
        </Rows>
      )}
    </Dialog>
  );
}

function ShareRow(props: { readonly share: Share; readonly busy: boolean; readonly onRevoke: () => void }) {
  const { share, busy, onRevoke } = props;
  const nowMs = useNow();
  return (
    <li className="flex items-center justify-between gap-3 px-3 py-2">
      <div className="min-w-0 text-sm">
        <p title={exactTime(share.expiresAt)}>{expiryWords(share.expiresAt, nowMs)}</p>
        <p className="text-xs text-ink-faint">
          Created {exactTime(share.createdAt)} · {countedTimes(share.opens)}
        </p>
      </div>
      <Button
        size="sm"
        busy={busy}
        onClick={onRevoke}
        aria-label={`Revoke the link created ${exactTime(share.createdAt)}`}
      >
        Revoke
      </Button>
    </li>
  );
}
