import { classNames } from "./class-names.ts";

/** Characters that are not seen but change how what stands around them is read. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A name chosen by another party, as one plain line: for titles and labels. */
export function plainName(name: string): string {
  const plain = name.replaceAll(unseen, " ").replaceAll(/\s+/g, " ").trim();
  return plain === "" ? "Unnamed" : plain;
}

/** A name chosen by another party: text, kept apart from the text around it, whatever direction it is written in. */
export function ClaimedName({ name, className }: { readonly name: string; readonly className?: string }) {
  return <bdi className={classNames("break-words", className)}>{plainName(name)}</bdi>;
}

/** Controls but tab and line feed, and signs that turn the direction of what follows them. */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text from elsewhere with what it hides made visible: nothing in it does anything but stand there. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(hidden, (sign) => {
    const code = sign.charCodeAt(0);
    // Unicode has pictures of the old controls.
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The address, when it is one of http or https and carries no password; else null. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? href : null;
}
