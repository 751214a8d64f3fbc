import { CircleUserRound } from "lucide-react";
import { useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { appScopes, type Scope } from "../../src/wire/access.ts";
import { type AccountRecord, type AddedAccount, addAccountInputSchema } from "../../src/wire/accounts.ts";
import type { SignInLink } from "../../src/wire/sign-in.ts";
import { useAccounts, useAddAccount, useCreateAccountLink, useRemoveAccount } from "../api/access.ts";
import { fieldError, messageOf } from "../api/api-error.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog, Dialog, FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { RelativeTime } from "../ui/time.tsx";
import { ClaimedName, plainName } from "../ui/untrusted.tsx";
import { ScopeBadges, ScopeChoice } from "./scope-list.tsx";
import { SignInLinkView } from "./settings-sign-in.tsx";

export function AccountsPage() {
  const accounts = useAccounts();
  const [adding, setAdding] = useState(false);
  const [handed, setHanded] = useState<{ readonly name: string; readonly link: SignInLink } | null>(null);
  const newLink = useCreateAccountLink();
  const [removing, setRemoving] = useState<AccountRecord | null>(null);
  return (
    <Page
      title="Accounts"
      description="People who can sign in. They see the same sessions, limited by their scopes. Each account has its own tokens, apps and browsers."
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          Add account
        </Button>
      }
    >
      <QueryState query={accounts} label="Loading accounts" rows={2} />
      <ErrorNotice error={newLink.error} className="mb-4" />
      {accounts.data !== undefined && (
        <Rows label="Accounts">
          {accounts.data.map((account) => (
            <AccountRow
              key={account.accountId}
              account={account}
              busy={newLink.isPending && newLink.variables === account.accountId}
              disabled={newLink.isPending} // its response is shown once, and a second one would replace it
              onLink={() =>
                newLink.mutate(account.accountId, {
                  onSuccess: (link) => setHanded({ name: account.name, link }),
                })
              }
              onRemove={() => setRemoving(account)}
            />
          ))}
        </Rows>
      )}
      {adding && (
        <AddAccountDialog
          onClose={() => setAdding(false)}
          onAdded={(account) => {
            setAdding(false);
            setHanded({ name: account.name, link: account.signInLink });
          }}
        />
      )}
      {handed !== null && <LinkDialog {...handed} onClose={() => setHanded(null)} />}
      {removing !== null && <RemoveDialog account={removing} onClose={() => setRemoving(null)} />}
    </Page>
  );
}

function AccountRow(props: {
  readonly account: AccountRecord;
  readonly busy: boolean;
  readonly disabled: boolean;
  readonly onLink: () => void;
  readonly onRemove: () => void;
}) {
  const { account, busy, disabled, onLink, onRemove } = props;
  const { name, isOwner, scopes, createdAt } = account;
  return (
    <RecordRow
      icon={CircleUserRound}
      facts={[["Added", <RelativeTime key="at" at={createdAt} />]]}
      actions={
        !isOwner && (
          <div className="flex gap-1.5">
            <Button busy={busy} disabled={disabled} onClick={onLink} aria-label={`New link for ${plainName(name)}`}>
              New link
            </Button>
            <Button variant="ghost" onClick={onRemove} aria-label={`Remove ${plainName(name)}`}>
              Remove…
            </Button>
          </div>
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

function LinkDialog({ name, link, onClose }: Readonly<{ name: string; link: SignInLink; onClose: () => void }>) {
  return (
    <Dialog
      onClose={onClose}
      title={
        <>
          A link for <ClaimedName name={name} />
        </>
      }
      description="Send it over a channel that you trust: the first person to open it is signed in as this account. It is shown only once."
    >
      <div className="flex flex-col gap-4">
        <SignInLinkView link={link} />
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
      onClose={onClose}
      title={
        <>
          Remove <ClaimedName name={account.name} />?
        </>
      }
      description="Signs out its browsers and removes its tokens, passkeys and connected apps immediately; open connections close within five seconds. Sessions keep running. You cannot undo this."
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(account.accountId, { onSuccess: onClose })}
    />
  );
}

function AddAccountDialog({
  onClose,
  onAdded,
}: {
  readonly onClose: () => void;
  readonly onAdded: (account: AddedAccount) => void;
}) {
  const add = useAddAccount();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["coding:read"]);
  const taken = add.error instanceof PosternClientError && add.error.code === "account_exists";
  const nameError = taken ? messageOf(add.error) : fieldError(add.error, "name");
  const input = addAccountInputSchema.safeParse({ name: name.trim(), scopes });
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() => input.success && add.mutate(input.data, { onSuccess: onAdded })}
      title="Add account"
      submit="Add"
      busy={add.isPending}
      disabled={!input.success}
      error={nameError === undefined ? add.error : null}
    >
      <TextField
        label="Name"
        required
        maxLength={100}
        placeholder="Name of the person"
        value={name}
        error={nameError}
        onChange={(event) => setName(event.target.value)}
      />
      <ScopeChoice legend="Permissions" offered={appScopes} chosen={scopes} onChange={setScopes} />
      {scopes.includes("coding:drive") && (
        <Notice tone="lamp">With coding:drive, this account can run any command on this machine as you.</Notice>
      )}
    </FormDialog>
  );
}
