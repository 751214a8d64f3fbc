import { classNames } from "./class-names.ts";

/** Characters that are not seen but change how what stands around them is read. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A name that somebody else chose, as one plain line: for titles and labels. */
export function plainName(name: string): string {
  const plain = name.replaceAll(unseen, " ").replaceAll(/\s+/g, " ").trim();
  return plain === "" ? "Unnamed" : plain;
}

/** A name that somebody else chose: text, kept apart from the text around it, whatever direction it is written in. */
export function ClaimedName({ name, className }: { readonly name: string; readonly className?: string }) {
  return <bdi className={classNames("break-words", className)}>{plainName(name)}</bdi>;
}
