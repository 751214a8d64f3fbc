/** A stranger's name for itself is read at a glance: this many letters, as people count them. */
const maxLetters = 60;

/** More of it is not even looked at. */
const maxLength = 2_000;

/** Controls, marks that turn the direction of what follows, and invisible characters. U+2800 is a blank that counts as a sign. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu;

/** Piles of accents, which would climb over the lines above. */
const accents = /(\p{M}{2})\p{M}+/gu;

/** Alphabets with letters that look like Latin ones. */
const lookAlikes = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u;

const latin = /\p{Script=Latin}/u;

/**
 * Text that a stranger chose, such as a client's name, made fit to be shown in one line: without what is unseen, and short.
 * It still has to be isolated (`<bdi>`), because its letters may run from right to left.
 */
export function claimedText(text: string, max = maxLetters): string {
  const plain = text
    .slice(0, maxLength)
    .normalize("NFC")
    .replace(/\s+/gu, " ")
    .replace(unseen, "")
    .replace(accents, "$1")
    .trim();
  const letters = Array.from(new Intl.Segmenter().segment(plain), ({ segment }) => segment);
  return letters.length <= max
    ? plain
    : `${letters
        .slice(0, max - 1)
        .join("")
        .trimEnd()}…`;
}

/** Whether a word mixes Latin letters with look-alikes: only a name that imitates another does. */
export function mixesAlphabets(text: string): boolean {
  return text.split(/[^\p{L}\p{M}]+/u).some((word) => latin.test(word) && lookAlikes.test(word));
}
