import { lazy, Suspense } from "react";
import type { SignInLink } from "../../src/wire/sign-in.ts";
import { CopyField } from "../ui/copy-field.tsx";
import { exactTime } from "../ui/time.ts";
import { isLoopback } from "./loopback.ts";

const QrCode = lazy(async () => ({ default: (await import("../ui/qr-code.tsx")).QrCode }));

/** A link that signs one browser in: to be copied, handed over, or read by a phone that can reach the gateway. */
export function SignInLinkView({ link }: { readonly link: SignInLink }) {
  return (
    <div className="flex flex-col gap-4">
      <CopyField label="Link" text={link.url}>
        Good once, until {exactTime(link.expiresAt)}, for whoever opens it first.
      </CopyField>
      {!isLoopback(link.url) && (
        <Suspense fallback={<div className="size-52 self-center" />}>
          <QrCode text={link.url} label="The link, for the camera of a phone" />
        </Suspense>
      )}
    </div>
  );
}
