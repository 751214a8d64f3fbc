import { Fingerprint, Smartphone } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useNavigate } from "react-router";
import type { Passkey } from "../../src/wire/accounts.ts";
import type { BrowserSession, SignInLink } from "../../src/wire/sign-in.ts";
import {
  useAddPasskey,
  useBrowserSessions,
  useCreateSignInLink,
  useMay,
  useMe,
  usePasskeys,
  useRemovePasskey,
  useRevokeBrowserSession,
  useSignOut,
} from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { ConfirmDialog, FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";
import { ClaimedName, plainName } from "../ui/untrusted.tsx";
import { browserName } from "./audit-words.ts";
import { obstacleHere, passkeyProblem } from "./passkey-words.ts";

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
                to add one. You have to sign in again there.
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

export function BrowserSettings() {
  const me = useMe().data;
  const mayAdminister = useMay("admin");
  const browsers = useBrowserSessions();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const [revoking, setRevoking] = useState<BrowserSession | null>(null);

  const leave = (): void => {
    signOut.mutate(undefined, { onSuccess: () => void navigate("/sign-in", { replace: true }) });
  };
  return (
    <>
      <Section
        title="Signed-in browsers"
        actions={
          me?.kind === "browser" && (
            <Button busy={signOut.isPending} onClick={leave}>
              Sign out
            </Button>
          )
        }
      >
        <ErrorNotice error={signOut.error} />
        <QueryState query={browsers} label="Loading browsers" rows={2} />
        {browsers.data?.length === 0 && <p className="text-sm text-ink-faint">No signed-in browsers.</p>}
        {browsers.data !== undefined && browsers.data.length > 0 && (
          <Rows label="Signed-in browsers">
            {browsers.data.map((browser) => (
              <li key={browser.browserSessionId} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
                <div className="min-w-52 flex-1">
                  <div className="flex items-center gap-2 font-medium" title={browser.userAgent}>
                    {browserName(browser.userAgent)}
                    {browser.current && <Badge tone="accent">This browser</Badge>}
                  </div>
                  <p className="text-2xs text-ink-faint">
                    Signed in {exactTime(browser.createdAt)} · last used <RelativeTime at={browser.lastUsedAt} />
                  </p>
                </div>
                {!browser.current && <Button onClick={() => setRevoking(browser)}>Sign out…</Button>}
              </li>
            ))}
          </Rows>
        )}
      </Section>
      {mayAdminister && <AnotherBrowser baseUrl={me?.gateway.baseUrl ?? ""} />}
      {revoking !== null && <RevokeDialog browser={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function AnotherBrowser({ baseUrl }: { readonly baseUrl: string }) {
  const link = useCreateSignInLink();
  const isLocal = isLoopback(baseUrl);
  return (
    <Section
      title="Link for another browser"
      description="Signs in a phone or another computer. Single use, expires in ten minutes."
    >
      <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
        {isLocal && (
          <Notice>
            The gateway’s address is <code className="text-xs">{baseUrl}</code>, which works only on this machine. For a
            phone, give the gateway an https address in your network and start it with{" "}
            <code className="text-xs">--base-url</code>.
          </Notice>
        )}
        {link.data === undefined ? (
          <Button icon={Smartphone} className="self-start" busy={link.isPending} onClick={() => link.mutate()}>
            Create link
          </Button>
        ) : (
          <>
            <SignInLinkView link={link.data} />
            <Button variant="ghost" className="self-start" onClick={() => link.reset()}>
              Done
            </Button>
          </>
        )}
        <ErrorNotice error={link.error} />
      </div>
    </Section>
  );
}

function RevokeDialog({ browser, onClose }: { readonly browser: BrowserSession; readonly onClose: () => void }) {
  const revoke = useRevokeBrowserSession();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Sign out ${browserName(browser.userAgent)}?`}
      description="Takes effect immediately; open connections close within five seconds."
      confirm="Sign out"
      act={revoke}
      onConfirm={() => revoke.mutate(browser.browserSessionId, { onSuccess: onClose })}
    />
  );
}

const QrCode = lazy(async () => ({ default: (await import("../ui/qr-code.tsx")).QrCode }));

export function SignInLinkView({ link }: { readonly link: SignInLink }) {
  return (
    <div className="flex flex-col gap-4">
      <CopyField label="Link" text={link.url}>
        Single use, expires {exactTime(link.expiresAt)}.
      </CopyField>
      {!isLoopback(link.url) && (
        <Suspense fallback={<div className="size-52 self-center" />}>
          <QrCode text={link.url} label="QR code of the link" />
        </Suspense>
      )}
    </div>
  );
}

/** Whether an address is reachable only from its own machine. */
export function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$)/.test(address);
}
