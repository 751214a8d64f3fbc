import { webAddress } from "../ui/untrusted.tsx";

/** As much of xterm's buffer as is read here. */
interface ReadBuffer {
  readonly length: number;
  getLine(index: number): { readonly isWrapped: boolean; translateToString(trimRight: boolean): string } | undefined;
}

/** More than any log-in prints; the newest are kept. */
const maxLinks = 5;
const address = /https?:\/\/[^\s"'<>`]*[^\s"'<>`.,;:!?)\]}]/gi;

/**
 * The addresses of http and https that stand in a terminal, each once, as they came; also those that are broken over several rows. The
 * bare address of a server on the gateway's own machine leads a browser nowhere, and is none.
 */
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
