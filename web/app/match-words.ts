/** Whether every word of `wanted` occurs in `text`, in any order, whatever their case and accents. */
export function matchesWords(text: string, wanted: string): boolean {
  const folded = fold(text);
  return fold(wanted)
    .split(/\s+/)
    .every((word) => folded.includes(word));
}

function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
}
