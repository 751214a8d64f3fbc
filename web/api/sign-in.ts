import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";

import { z } from "zod";
import type { Scope } from "../../src/wire/access.ts";
import { passkeyCeremonySchema, passkeySchema } from "../../src/wire/accounts.ts";
import {
  browserSessionSchema,
  type Me,
  meSchema,
  type SignedIn,
  signedInSchema,
  signInLinkSchema,
} from "../../src/wire/sign-in.ts";
import { notifiedAccount } from "../push/notified-account.ts";
import { acting, forgetKey, reading, whenSignedOut } from "./client.ts";
import { queryKeys, useAct, useChange, useRead, useRemove } from "./query.ts";

export function useMe() {
  return useRead(queryKeys.me, (call) => reading.getMe({}, { ...call, output: meSchema }), { staleTime: 60_000 });
}

/** Whether the account has `scope`. True while this is unknown, because the gateway checks every request anyway. */
export function useMay(scope: Scope): boolean {
  const { data } = useMe();
  return data === undefined || may(data, scope);
}

export function may(me: Me, scope: Scope): boolean {
  return me.scopes.includes(scope);
}

const browserSessionsSchema = z
  .object({ browserSessions: z.array(browserSessionSchema) })
  .transform(({ browserSessions }) => browserSessions);

export function useBrowserSessions() {
  return useRead(queryKeys.browserSessions, (call) =>
    reading.listBrowserSessions({}, { ...call, output: browserSessionsSchema }),
  );
}

export function useRevokeBrowserSession() {
  return useRemove((browserSessionId) => acting.revokeBrowserSession({ browserSessionId }), queryKeys.browserSessions);
}

/** Signs this browser out. The sign-in page clears the cache. */
export function useSignOut() {
  return useAct({
    mutationFn: () => acting.signOut(),
    onSuccess: () => {
      // Pending requests are now refused, and must not redirect back to this page.
      whenSignedOut(() => undefined);
      forgetKey();
      // The gateway removed the subscription together with the sign-in. Not awaited: a push service can be slow.
      if (notifiedAccount() !== null) void import("../push/this-browser.ts").then(({ turnOffHere }) => turnOffHere());
    },
  });
}

export function useCreateSignInLink() {
  return useAct({
    mutationFn: () => acting.createSignInLink({}, { output: signInLinkSchema }),
    gcTime: 0,
  });
}

const passkeysSchema = z.object({ passkeys: z.array(passkeySchema) }).transform(({ passkeys }) => passkeys);

/** The browser validates the rest. */
const creationSchema = passkeyCeremonySchema.extend({
  options: z.custom<PublicKeyCredentialCreationOptionsJSON>(hasChallenge),
});
const requestSchema = passkeyCeremonySchema.extend({
  options: z.custom<PublicKeyCredentialRequestOptionsJSON>(hasChallenge),
});

function hasChallenge(options: unknown): boolean {
  return typeof options === "object" && options !== null && "challenge" in options;
}

export function usePasskeys() {
  return useRead(queryKeys.passkeys, (call) => reading.listPasskeys({}, { ...call, output: passkeysSchema }));
}

/** Creates a passkey with this name in the browser. */
export function useAddPasskey() {
  return useChange(queryKeys.passkeys, async (name: string) => {
    const { startRegistration } = await import("@simplewebauthn/browser");
    const { ceremonyId, options } = await acting.beginPasskeyRegistration({}, { output: creationSchema });
    const credential = await startRegistration({ optionsJSON: options });
    return acting.addPasskey({ ceremonyId, credential: { ...credential }, name }, { output: passkeySchema });
  });
}

export function useRemovePasskey() {
  return useRemove((passkeyId) => acting.removePasskey({ passkeyId }), queryKeys.passkeys);
}

/** Signs in with a passkey. */
export function usePasskeySignIn() {
  return useAct({
    mutationFn: async (): Promise<SignedIn> => {
      const { startAuthentication } = await import("@simplewebauthn/browser");
      const { ceremonyId, options } = await acting.beginPasskeySignIn({}, { output: requestSchema });
      const credential = await startAuthentication({ optionsJSON: options });
      return acting.signInWithPasskey({ ceremonyId, credential: { ...credential } }, { output: signedInSchema });
    },
    gcTime: 0, // the response contains the key of the sign-in
  });
}
