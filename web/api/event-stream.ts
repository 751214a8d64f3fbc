/** One message of a stream of server-sent events. */
export interface StreamedMessage {
  readonly event: string;
  readonly data: string;
  /** What to send as `Last-Event-ID`, once this message was taken. */
  readonly id: string | null;
}

/** The longest line that is kept; a longer one is not from our gateway. */
const maxLineLength = 1_000_000;

/**
 * Reads server-sent events as they come. `EventSource` cannot send a header, and the key is one.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6
 */
export function createEventStreamParser(onMessage: (message: StreamedMessage) => void): (text: string) => void {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | null = null;

  function takeLine(line: string): void {
    if (line === "") {
      // An id without data is a position to continue from: reported with empty data, so that it can be kept.
      if (data.length > 0 || id !== null)
        onMessage({ event: event === "" ? "message" : event, data: data.join("\n"), id });
      event = "";
      data = [];
      id = null;
      return;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
  }

  return (text) => {
    rest += text;
    for (;;) {
      const end = rest.search(/[\r\n]/);
      // A CR at the very end may be half of a CRLF.
      if (end === -1 || (rest[end] === "\r" && end === rest.length - 1)) break;
      const line = rest.slice(0, end);
      rest = rest.slice(end + (rest.startsWith("\r\n", end) ? 2 : 1));
      takeLine(line);
    }
    if (rest.length > maxLineLength) throw new Error("A line of the event stream is too long.");
  };
}
