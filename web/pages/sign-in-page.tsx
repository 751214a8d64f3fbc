import { useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { type Location, useLocation, useNavigate } from "react-router";
import { meSchema, signedInSchema } from "../../src/wire/sign-in.ts";
import { acting, reading, storedKey, storeKey } from "../api/client.ts";
import { usePasskeySignIn } from "../api/sign-in.ts";
import { Mark } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { usePageTitle } from "../ui/page.tsx";
import { ClaimedName } from "../ui/untrusted.tsx";
import { obstacleHere, passkeyProblem } from "./passkey-words.ts";
import { isServerPage, returnPath } from "./return-path.ts";

type State =
  | { readonly kind: "none" | "working" }
  /** A link was opened in a signed-in browser. */
  | { readonly kind: "asking"; readonly link: string; readonly accountName: string }
  | { readonly kind: "failed"; readonly error: unknown };

export function SignInPage() {
  usePageTitle("Sign in");
  const { hash } = useLocation();
  const client = useQueryClient();
  const [state, setState] = useState<State>({ kind: "none" });
  const redeemed = useRef("");
  const goOn = useGoOn();
  const finish = useCallback(
    (key: string) => {
      storeKey(key);
      client.clear();
      goOn();
    },
    [client, goOn],
  );

  const redeem = useCallback(
    (link: string) => {
      setState({ kind: "working" });
      acting.signIn({ link }, { output: signedInSchema }).then(
        ({ key }) => finish(key),
        (error: unknown) => setState({ kind: "failed", error }),
      );
    },
    [finish],
  );

  // The next account must not see cached data of the previous one.
  useEffect(() => client.clear(), [client]);

  useEffect(() => {
    const link = hash.slice(1);
    // A link works once, and effects may run twice.
    if (link === "" || redeemed.current === link) return;
    redeemed.current = link;
    setState({ kind: "working" });
    // Remove it from the address and the history.
    window.history.replaceState(window.history.state, "", `/sign-in${window.location.search}`);
    // Someone else's link would silently sign this browser in to their account.
    const signedInAs =
      storedKey() === null
        ? Promise.resolve(null)
        : reading.getMe({}, { output: meSchema }).then(
            ({ account }) => account.name,
            () => null,
          );
    void signedInAs.then((accountName) => {
      if (accountName === null) redeem(link);
      else setState({ kind: "asking", link, accountName });
    });
  }, [hash, redeem]);

  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center gap-5 px-6 py-12">
      <Mark className="size-12" />
      <div>
        <h1 className="text-2xl font-semibold tracking-tight">Sign in to Postern</h1>
        <p className="mt-1 text-sm text-ink-soft">Remote control for the coding agents on this machine.</p>
      </div>
      {state.kind === "working" ? (
        <p role="status" className="text-sm text-ink-soft">
          Signing in…
        </p>
      ) : state.kind === "asking" ? (
        <OtherAccount accountName={state.accountName} onUse={() => redeem(state.link)} onStay={goOn} />
      ) : (
        <>
          {state.kind === "failed" && <ErrorNotice error={state.error} />}
          <PasskeySignIn onSignedIn={finish} />
          <LinkHelp />
        </>
      )}
    </main>
  );
}

function OtherAccount(props: {
  readonly accountName: string;
  readonly onUse: () => void;
  readonly onStay: () => void;
}) {
  const { accountName, onUse, onStay } = props;
  return (
    <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-5 text-sm">
      <p>
        You are signed in as <ClaimedName name={accountName} />. Sign in as the link’s account? Use a link only if you
        requested it yourself.
      </p>
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" onClick={onStay}>
          Stay signed in
        </Button>
        <Button onClick={onUse}>Use link</Button>
      </div>
    </div>
  );
}

/** Opens the requested page, also if this browser is already signed in. */
function useGoOn(): () => void {
  const location = useLocation();
  const navigate = useNavigate();
  const [to] = useState(() => rememberedPath(location));
  const goOn = useCallback(() => {
    sessionStorage.removeItem(pathStorage);
    if (isServerPage(to)) window.location.replace(to);
    else void navigate(to, { replace: true });
  }, [to, navigate]);

  useEffect(() => {
    // Another tab has signed in.
    const onStorage = ({ key, newValue }: StorageEvent): void => {
      if (key === "postern.key" && newValue !== null) goOn();
    };
    window.addEventListener("storage", onStorage);
    return () => window.removeEventListener("storage", onStorage);
  }, [goOn]);

  useEffect(() => {
    // Browsers withhold a strict cookie after a cross-site navigation, even when signed in.
    if (!isServerPage(to) || storedKey() === null || !firstTry(to)) return;
    const leaving = new AbortController();
    reading.getMe({}, { signal: leaving.signal }).then(goOn, () => undefined);
    return () => leaving.abort();
  }, [to, goOn]);
  return goOn;
}

const pathStorage = "postern.to";

/** {@link returnPath}; a link opened in the same tab leads to the page requested before it. */
function rememberedPath(location: Location): string {
  const to = returnPath(location);
  if (to === "/" && location.hash !== "") {
    return returnPath({ state: { from: sessionStorage.getItem(pathStorage) ?? "/" } });
  }
  sessionStorage.setItem(pathStorage, to);
  return to;
}

/** Returning automatically to a page that redirects here would loop. */
function firstTry(to: string): boolean {
  const tried = sessionStorage.getItem("postern.returned") === to;
  sessionStorage.setItem("postern.returned", tried ? "" : to);
  return !tried;
}

function LinkHelp() {
  return (
    <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-5 text-sm">
      <p>No passkey yet? On the machine where the gateway runs, create a sign-in link and open it in this browser.</p>
      <div className="flex items-center justify-between gap-2 rounded-md bg-well py-1 pr-1 pl-3 font-mono text-sm">
        <code>postern login-link</code>
        <CopyButton text="postern login-link" label="Copy command" />
      </div>
      <p className="text-ink-faint">
        A link works once and expires after a few minutes. Anyone who is already signed in can create one in Settings,
        under “Link for another browser”.
      </p>
    </div>
  );
}

function PasskeySignIn({ onSignedIn }: { readonly onSignedIn: (key: string) => void }) {
  const signIn = usePasskeySignIn();
  const obstacle = obstacleHere();
  if (obstacle !== null) {
    return (
      <p className="text-sm text-ink-faint">
        To sign in with a passkey,{" "}
        {obstacle.elsewhere === null ? (
          "open this page at a different address."
        ) : (
          <a href={obstacle.elsewhere} className="text-accent underline">
            open this page on localhost
          </a>
        )}
        {obstacle.elsewhere === null ? " " : ". "}
        {obstacle.words}
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-3">
      <Button
        variant="primary"
        size="lg"
        icon={Fingerprint}
        busy={signIn.isPending}
        onClick={() => signIn.mutate(undefined, { onSuccess: ({ key }) => onSignedIn(key) })}
      >
        Sign in with a passkey
      </Button>
      {signIn.error !== null && <ErrorNotice error={passkeyProblem(signIn.error)} />}
    </div>
  );
}
