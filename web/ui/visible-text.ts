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
