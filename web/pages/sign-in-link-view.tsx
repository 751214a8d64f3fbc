import { lazy, Suspense } from "react";
import type { SignInLink } from "../../src/wire/sign-in.ts";
import { CopyField } from "../ui/copy-button.tsx";
import { exactTime } from "../ui/time.tsx";

const QrCode = lazy(async () => ({ default: (await import("../ui/qr-code.tsx")).QrCode }));

/** A link that signs one browser in: to be copied, handed over, or read by a phone that can reach the gateway. */
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

/** Whether only the machine that a browser runs on is reached by an address. */
export function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$)/.test(address);
}
