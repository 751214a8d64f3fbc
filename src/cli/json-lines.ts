/** One line of a stream, or word that there was one too long to keep. */
export type Line = { readonly kind: "line"; readonly text: string } | { readonly kind: "too_long" };

/** Splits a stream into lines; empty ones are left out. */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  { maxLength }: { readonly maxLength: number },
): AsyncGenerator<Line, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let dropping = false;
  for await (const chunk of input) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      const text = rest + part;
      rest = "";
      if (dropping || text.length > maxLength) yield { kind: "too_long" };
      else if (text.trim() !== "") yield { kind: "line", text };
      dropping = false;
    }
    rest = dropping ? "" : rest + last;
    if (rest.length > maxLength) {
      dropping = true;
      rest = "";
    }
  }
  if (rest.trim() !== "") yield { kind: "line", text: rest };
}
