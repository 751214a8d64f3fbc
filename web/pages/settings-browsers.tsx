import { Smartphone } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { BrowserSession } from "../../src/wire/sign-in.ts";
import { useMay, useMe } from "../api/me.ts";
import { useBrowserSessions, useCreateSignInLink, useRevokeBrowserSession, useSignOut } from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { Rows } from "../ui/rows.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";
import { isLoopback, SignInLinkView } from "./sign-in-link-view.tsx";
import { browserName } from "./user-agent.ts";

/** The browsers that are signed in, a link for one more, and the way out. */
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
        {signOut.error !== null && <ErrorNotice error={signOut.error} />}
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
        {link.error !== null && <ErrorNotice error={link.error} />}
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
