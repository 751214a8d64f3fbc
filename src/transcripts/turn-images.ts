import type { TurnImage } from "../wire/turn.ts";
import { type Fields, fieldsAt, isFields, listAt, stringAt } from "./json-fields.ts";

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

function imagesOf(found: readonly (string | null)[]): readonly TurnImage[] {
  let characters = 0;
  const given = found.filter((base64) => base64 !== null);
  return given.slice(0, maxImages).flatMap((base64) => {
    const image = imageOf(base64);
    if (image === null) return [];
    characters += image.data?.length ?? 0;
    return characters > maxImagesCharacters ? [{ ...image, data: null }] : [image];
  });
}

/** The pictures in a prompt of Claude Code: of a message's content, or of a prompt that was queued. */
export function claudeImages(line: Fields): readonly TurnImage[] {
  const parts = [...listAt(fieldsAt(line, "message"), "content"), ...listAt(fieldsAt(line, "attachment"), "prompt")];
  return imagesOf(parts.map((part) => (part["type"] === "image" ? stringAt(fieldsAt(part, "source"), "data") : null)));
}

/** The pictures in a prompt of Codex, which are addresses with the data in them. Those that are paths stay on disk. */
export function codexImages(payload: Fields): readonly TurnImage[] {
  const content = [...listAt(payload, "content"), ...listAt(fieldsAt(payload, "item"), "content")];
  const listed: unknown = payload["images"];
  const addresses = [
    ...content.map((part) => stringAt(part, "image_url") ?? stringAt(part, "url")),
    ...(Array.isArray(listed) ? listed.map((one: unknown) => (typeof one === "string" ? one : null)) : []),
  ];
  return imagesOf(addresses.map((address) => (address?.startsWith("data:") ? afterComma(address) : null)));
}

/** The pictures in a prompt of Gemini CLI. */
export function geminiImages(line: Fields): readonly TurnImage[] {
  const { content } = line;
  const parts = (Array.isArray(content) ? content : [content]).filter(isFields);
  return imagesOf(parts.map((part) => stringAt(fieldsAt(part, "inlineData"), "data")));
}

function afterComma(address: string): string | null {
  const comma = address.indexOf(";base64,");
  return comma === -1 || comma > 100 ? null : address.slice(comma + ";base64,".length);
}
