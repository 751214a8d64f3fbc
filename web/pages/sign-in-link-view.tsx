import type { SignInLink } from "../../src/wire/sign-in.ts";
import { CopyField } from "../ui/copy-field.tsx";
import { exactTime } from "../ui/time.ts";

/** A link that signs one browser in, to be copied or handed over. */
export function SignInLinkView({ link }: { readonly link: SignInLink }) {
  return (
    <CopyField label="Link" text={link.url}>
      Good once, until {exactTime(link.expiresAt)}, for whoever opens it first.
    </CopyField>
  );
}
