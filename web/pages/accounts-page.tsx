import { CircleUserRound } from "lucide-react";
import { useState } from "react";
import type { AccountRecord, AddedAccount } from "../../src/wire/accounts.ts";
import { useAccounts, useRemoveAccount } from "../api/accounts.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ClaimedName, plainName } from "../ui/claimed-name.tsx";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { Page, Rows } from "../ui/page.tsx";
import { RecordRow } from "../ui/record-row.tsx";
import { RelativeTime } from "../ui/relative-time.tsx";
import { AddAccountDialog } from "./add-account-dialog.tsx";
import { ScopeBadges } from "./scope-list.tsx";
import { SignInLinkView } from "./sign-in-link-view.tsx";

/** Who may sign in, and what each may do. */
export function AccountsPage() {
  const accounts = useAccounts();
  const [adding, setAdding] = useState(false);
  const [added, setAdded] = useState<AddedAccount | null>(null);
  const [removing, setRemoving] = useState<AccountRecord | null>(null);
  return (
    <Page
      title="Accounts"
      description="Who may sign in here. All see the same sessions, as far as their scopes reach; tokens, apps and browsers are each account’s own."
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          Add an account
        </Button>
      }
    >
      {accounts.isPending && <LoadingRows label="Loading accounts" rows={2} />}
      {accounts.error !== null && <ErrorNotice error={accounts.error} onRetry={() => void accounts.refetch()} />}
      {accounts.data !== undefined && (
        <Rows label="Accounts">
          {accounts.data.map((account) => (
            <AccountRow key={account.accountId} account={account} onRemove={() => setRemoving(account)} />
          ))}
        </Rows>
      )}
      {adding && (
        <AddAccountDialog
          onClose={() => setAdding(false)}
          onAdded={(account) => {
            setAdding(false);
            setAdded(account);
          }}
        />
      )}
      {added !== null && <AddedDialog added={added} onClose={() => setAdded(null)} />}
      {removing !== null && <RemoveDialog account={removing} onClose={() => setRemoving(null)} />}
    </Page>
  );
}

function AccountRow({ account, onRemove }: { readonly account: AccountRecord; readonly onRemove: () => void }) {
  const { name, isOwner, scopes, createdAt } = account;
  return (
    <RecordRow
      icon={CircleUserRound}
      facts={[["Since", <RelativeTime key="at" at={createdAt} />]]}
      actions={
        !isOwner && (
          <Button onClick={onRemove} aria-label={`Remove ${plainName(name)}`}>
            Remove…
          </Button>
        )
      }
    >
      <div className="flex flex-wrap items-center gap-1.5">
        <h2 className="font-medium">
          <ClaimedName name={name} />
        </h2>
        {isOwner && <Badge tone="accent">Owner</Badge>}
      </div>
      <ScopeBadges scopes={scopes} />
    </RecordRow>
  );
}

function AddedDialog({ added, onClose }: { readonly added: AddedAccount; readonly onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={
        <>
          A link for <ClaimedName name={added.name} />
        </>
      }
      description="Hand it over on a way that you trust: whoever opens it first is signed in as this account. It is shown this one time."
    >
      <div className="flex flex-col gap-4">
        <SignInLinkView link={added.signInLink} />
        <Button variant="primary" className="self-end" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function RemoveDialog({ account, onClose }: { readonly account: AccountRecord; readonly onClose: () => void }) {
  const remove = useRemoveAccount();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={
        <>
          Remove <ClaimedName name={account.name} />?
        </>
      }
      description="Its browsers are signed out, and its tokens, passkeys and connected apps end, at once; what they have open within five seconds. Sessions stay and go on. It cannot be undone."
      confirm="Remove"
      busy={remove.isPending}
      onConfirm={() => remove.mutate(account.accountId, { onSuccess: onClose })}
    >
      {remove.error !== null && <ErrorNotice error={remove.error} />}
    </ConfirmDialog>
  );
}
