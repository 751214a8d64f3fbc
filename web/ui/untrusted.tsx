import { classNames } from "./class-names.ts";

/** Invisible characters that change how the text around them is read. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** An untrusted name as one plain line, for titles and labels. */
export function plainName(name: string): string {
  const plain = name.replaceAll(unseen, " ").replaceAll(/\s+/g, " ").trim();
  return plain === "" ? "Unnamed" : plain;
}

/** An untrusted name, isolated from the direction of the text around it. */
export function ClaimedName({ name, className }: { readonly name: string; readonly className?: string }) {
  return <bdi className={classNames("break-words", className)}>{plainName(name)}</bdi>;
}

/** Controls except tab and line feed, and characters that change the text direction. */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Untrusted text with hidden characters made visible. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(hidden, (sign) => {
    const code = sign.charCodeAt(0);
    // Unicode has pictures of control characters.
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The URL if it is http or https without a password; else null. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? href : null;
}
