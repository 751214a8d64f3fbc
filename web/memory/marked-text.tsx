import { markedPieces } from "./marked-words.ts";

/** A snippet with the words of the search marked. Untrusted: it is text, and nothing else. */
export function MarkedText({ text, query }: { readonly text: string; readonly query: string }) {
  return markedPieces(text, query).map((piece, index) =>
    piece.marked ? (
      <mark key={index} className="rounded-sm bg-lamp-soft px-0.5 text-lamp">
        {piece.text}
      </mark>
    ) : (
      piece.text
    ),
  );
}
