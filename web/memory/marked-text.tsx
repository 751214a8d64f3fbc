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

/** A piece of a text; `marked` is what was looked for. */
interface TextPiece {
  readonly text: string;
  readonly marked: boolean;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Written without spaces: parts of a run are words there. */
const unspaced = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Thai}/u;

/** A snippet with the words of a query marked, near enough to how the gateway finds them: without case and accents, the last word also as a beginning. */
export function markedPieces(text: string, query: string): readonly TextPiece[] {
  const wanted = [...query.matchAll(word)].map(([found]) => folded(found));
  const last = wanted.at(-1);
  const pieces: TextPiece[] = [];
  let at = 0;
  const take = (end: number, marked: boolean): void => {
    if (end > at) pieces.push({ text: text.slice(at, end), marked });
    at = Math.max(at, end);
  };
  for (const { 0: found, index } of text.matchAll(word)) {
    const one = folded(found);
    const length = lengthMarked(one, found, { wanted, last });
    if (length === null) continue;
    take(index + length.from, false);
    take(index + length.to, true);
  }
  take(text.length, false);
  return pieces;
}

function lengthMarked(
  one: string,
  found: string,
  { wanted, last }: { readonly wanted: readonly string[]; readonly last: string | undefined },
): { readonly from: number; readonly to: number } | null {
  if (wanted.includes(one)) return { from: 0, to: found.length };
  if (last !== undefined && one.startsWith(last)) return { from: 0, to: Math.min(last.length, found.length) };
  const part = unspaced.test(found) ? wanted.find((each) => found.includes(each)) : undefined;
  return part === undefined ? null : { from: found.indexOf(part), to: found.indexOf(part) + part.length };
}

function folded(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .toLowerCase();
}
