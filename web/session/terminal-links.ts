import { webAddress } from "../ui/untrusted.tsx";

interface ReadBuffer {
  readonly length: number;
  getLine(index: number): { readonly isWrapped: boolean; translateToString(trimRight: boolean): string } | undefined;
}

/** More than any login prints; the newest are kept. */
const maxLinks = 5;
const address = /https?:\/\/[^\s"'<>`]*[^\s"'<>`.,;:!?)\]}]/gi;

/** The web addresses in a terminal, also wrapped ones. Skips the bare address of a server on the gateway's machine: other browsers cannot open it. */
export function linksIn(buffer: ReadBuffer): readonly string[] {
  const links = new Set<string>();
  for (const line of wholeLines(buffer)) {
    for (const [text] of line.matchAll(address)) {
      const link = webAddress(text);
      if (link !== null && !isOwnServer(link)) links.add(link);
    }
  }
  return [...links].slice(-maxLinks);
}

function* wholeLines(buffer: ReadBuffer): Generator<string> {
  let text = "";
  for (let index = 0; index < buffer.length; index += 1) {
    const goesOn = buffer.getLine(index + 1)?.isWrapped === true;
    text += buffer.getLine(index)?.translateToString(!goesOn) ?? "";
    if (goesOn) continue;
    yield text;
    text = "";
  }
}

function isOwnServer(link: string): boolean {
  const { hostname, pathname, search } = new URL(link);
  return /^(?:localhost|127\..*|\[::1\])$/.test(hostname) && pathname === "/" && search === "";
}
