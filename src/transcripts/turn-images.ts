import type { TurnImage } from "../wire/turn.ts";

/** Characters of base64 that an answer holds of one picture: 1.5 MB, a screenshot of a large display. */
const maxImageCharacters = 2_000_000;
/** And of all pictures of a prompt. */
const maxImagesCharacters = 6_000_000;
/** Further ones are left out. */
const maxImages = 20;

/** What pictures begin with, by their type. Nothing else is a picture, whatever a transcript calls it: SVG holds scripts. */
const beginnings = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
] as const;
/** Base64 characters of the longest beginning. */
const beginningCharacters = 24;

/** A picture by its content; null when it is none that a browser may show. */
function imageOf(base64: string): TurnImage | null {
  const head = Buffer.from(base64.slice(0, beginningCharacters), "base64").toString("latin1");
  const mediaType = beginnings.find(([, begins]) => begins.test(head))?.[0];
  if (mediaType === undefined) return null;
  return { mediaType, data: base64.length <= maxImageCharacters && isBase64(base64) ? base64 : null };
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The pictures of a prompt, each as base64; what a browser may not show, and what is too much, is left out. */
export function imagesOf(found: readonly (string | null)[]): readonly TurnImage[] {
  let characters = 0;
  const given = found.filter((base64) => base64 !== null);
  return given.slice(0, maxImages).flatMap((base64) => {
    const image = imageOf(base64);
    if (image === null) return [];
    characters += image.data?.length ?? 0;
    return characters > maxImagesCharacters ? [{ ...image, data: null }] : [image];
  });
}
