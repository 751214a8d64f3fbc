import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { CreatedToken, Token } from "../../src/wire/access.ts";
import { useRevokeToken, useTokens } from "../api/access.ts";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { RelativeTime, shortDate } from "../ui/time.tsx";
import { CreateTokenDialog } from "./create-token-dialog.tsx";
import { ScopeBadges } from "./scope-list.tsx";

export function TokensPage() {
  const tokens = useTokens();
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedToken | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  return (
    <Page
      title="Tokens"
      description="For programs that call the gateway: scripts, editors, other machines. Each token can be revoked individually."
      actions={
        <Button variant="primary" onClick={() => setCreating(true)}>
          Create token
        </Button>
      }
    >
      <QueryState query={tokens} label="Loading tokens" rows={2} />
      {tokens.data?.length === 0 && (
        <EmptyState title="No tokens yet">
          Browsers sign in with a link or a passkey, and apps ask for access: neither needs a token.
        </EmptyState>
      )}
      {tokens.data !== undefined && tokens.data.length > 0 && (
        <Rows label="Tokens">
          {tokens.data.map((token) => (
            <TokenRow key={token.tokenId} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </Rows>
      )}
      {creating && (
        <CreateTokenDialog
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false);
            setCreated(token);
          }}
        />
      )}
      {created !== null && <CreatedDialog created={created} onClose={() => setCreated(null)} />}
      {revoking !== null && <RevokeDialog token={revoking} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

function TokenRow({ token, onRevoke }: { readonly token: Token; readonly onRevoke: () => void }) {
  const { name, scopes, folders, createdAt, expiresAt, lastUsedAt } = token;
  return (
    <RecordRow
      icon={KeyRound}
      facts={[
        ["Created", <RelativeTime key="at" at={createdAt} />],
        ["Last used", lastUsedAt === null ? "never" : <RelativeTime key="used" at={lastUsedAt} />],
        ["Expires", expiresAt === null ? "never" : shortDate(expiresAt)],
      ]}
      actions={
        <Button onClick={onRevoke} aria-label={`Revoke ${name}`}>
          Revoke…
        </Button>
      }
    >
      <h2 className="font-medium">{name}</h2>
      <ScopeBadges scopes={scopes} />
      {folders !== null && <p className="font-mono text-2xs break-all text-ink-faint">Only in {folders.join(", ")}</p>}
    </RecordRow>
  );
}

function CreatedDialog({ created, onClose }: { readonly created: CreatedToken; readonly onClose: () => void }) {
  return (
    <Dialog
      onClose={onClose}
      title={`The token “${created.name}”`}
      description="Copy the token now. It is shown only once; the gateway stores only a hash."
    >
      <div className="flex flex-col gap-4">
        <CopyField label="Token" text={created.token}>
          Sent as <code>Authorization: Bearer …</code>
        </CopyField>
        <div className="flex justify-end gap-2">
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function RevokeDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const revoke = useRevokeToken();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Revoke “${token.name}”?`}
      description="It stops working immediately, and its open connections close within five seconds. Sessions that were started with it keep running."
      confirm="Revoke"
      act={revoke}
      onConfirm={() => revoke.mutate(token.tokenId, { onSuccess: onClose })}
    />
  );
}
