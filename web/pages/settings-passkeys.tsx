import { Fingerprint } from "lucide-react";
import { useState } from "react";
import type { Passkey } from "../../src/wire/accounts.ts";
import { useMe } from "../api/me.ts";
import { useAddPasskey, usePasskeys, useRemovePasskey } from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog, FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { Notice, QueryState } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";
import { ClaimedName, plainName } from "../ui/untrusted.tsx";
import { obstacleHere, passkeyProblem } from "./passkey-words.ts";
import { browserName } from "./user-agent.ts";

/** Ways to sign in without a link: each kept by a browser, a phone or a security key. */
export function PasskeySettings() {
  const passkeys = usePasskeys();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const obstacle = obstacleHere(useMe().data?.gateway.baseUrl);
  return (
    <Section
      title="Passkeys"
      description="Sign in with a fingerprint, face, PIN or security key. The gateway stores no secret."
      actions={obstacle === null && <Button onClick={() => setAdding(true)}>Add passkey</Button>}
    >
      <div className="flex flex-col gap-2">
        {obstacle !== null && (
          <Notice>
            {obstacle.words}
            {obstacle.elsewhere !== null && (
              <>
                {" "}
                <a href={obstacle.elsewhere} className="text-accent underline">
                  Open this page at {new URL(obstacle.elsewhere).host}
                </a>{" "}
                to add one; you sign in there anew.
              </>
            )}
          </Notice>
        )}
        <QueryState query={passkeys} label="Loading passkeys" rows={1} />
        {passkeys.data?.length === 0 && (
          <p className="text-sm text-ink-faint">No passkeys yet. This account signs in with links.</p>
        )}
        {passkeys.data !== undefined && passkeys.data.length > 0 && (
          <Rows label="Passkeys">
            {passkeys.data.map((passkey) => (
              <PasskeyRow key={passkey.passkeyId} passkey={passkey} onRemove={() => setRemoving(passkey)} />
            ))}
          </Rows>
        )}
      </div>
      {adding && <AddDialog onClose={() => setAdding(false)} />}
      {removing !== null && <RemoveDialog passkey={removing} onClose={() => setRemoving(null)} />}
    </Section>
  );
}

function PasskeyRow({ passkey, onRemove }: { readonly passkey: Passkey; readonly onRemove: () => void }) {
  const { name, createdAt, lastUsedAt, backedUp } = passkey;
  return (
    <RecordRow
      icon={Fingerprint}
      facts={[]}
      actions={
        <Button variant="ghost" onClick={onRemove} aria-label={`Remove ${plainName(name)}`}>
          Remove…
        </Button>
      }
    >
      <div className="flex flex-wrap items-center gap-2 font-medium">
        <ClaimedName name={name} />
        {backedUp && <Badge>Synced</Badge>}
      </div>
      <p className="text-2xs text-ink-faint">
        Added {exactTime(createdAt)} · {lastUsedAt === null ? "never used" : "last used "}
        {lastUsedAt !== null && <RelativeTime at={lastUsedAt} />}
      </p>
    </RecordRow>
  );
}

function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const add = useAddPasskey();
  const [name, setName] = useState(() => browserName(navigator.userAgent));
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() => add.mutate(name.trim(), { onSuccess: onClose })}
      title="Add passkey"
      description="Your browser asks where to save it: on this device, on a phone or on a security key."
      submit="Continue"
      busy={add.isPending}
      disabled={name.trim() === ""}
      error={add.error === null ? null : passkeyProblem(add.error)}
    >
      <TextField
        label="Name"
        required
        maxLength={100}
        hint="Shown in the list of passkeys."
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}

function RemoveDialog({ passkey, onClose }: { readonly passkey: Passkey; readonly onClose: () => void }) {
  const remove = useRemovePasskey();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={
        <>
          Remove “<ClaimedName name={passkey.name} />
          ”?
        </>
      }
      description="You can no longer sign in with it. Browsers that used it stay signed in until you sign them out. Delete it from your device or password manager too."
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(passkey.passkeyId, { onSuccess: onClose })}
    />
  );
}
