/** The image types that browsers can show safely, with their signatures: the only ones that Postern shows or serves as images. */
const signatures = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
] as const;

export type ImageType = (typeof signatures)[number][0];

/** Bytes of the longest signature. */
export const signatureBytes = 12;

/** The type of an image by its first bytes, whatever it is called: SVG can contain scripts. Null for anything else. */
export function imageTypeOf(head: Uint8Array): ImageType | null {
  const text = Buffer.from(head.subarray(0, signatureBytes)).toString("latin1");
  return signatures.find(([, begins]) => begins.test(text))?.[0] ?? null;
}

export function isImageType(mediaType: string): mediaType is ImageType {
  return signatures.some(([type]) => type === mediaType);
}
