import { type ImageType, imageTypeOf, isImageType } from "../core/image-types.ts";
import { attachmentError } from "./errors.ts";

/** What an attachment can be. */
export type AttachmentType = ImageType | "application/pdf" | "text/plain";

/** The extensions of a type, the first for files without one; null allows any that belongs to no other type. */
const extensions: Readonly<Record<AttachmentType, readonly string[]>> = {
  "image/png": ["png"],
  "image/jpeg": ["jpg", "jpeg"],
  "image/gif": ["gif"],
  "image/webp": ["webp"],
  "application/pdf": ["pdf"],
  "text/plain": ["txt"],
};

const imageExtensions: ReadonlySet<string> = new Set(
  Object.entries(extensions).flatMap(([type, of]) => (isImageType(type) ? of : [])),
);
/** A text with such a name is mislabeled. */
const binaryExtensions: ReadonlySet<string> = new Set([...imageExtensions, "pdf"]);

/**
 * The type of a file by its content. The name must be compatible: a picture can have the extension of another picture type, as screenshots
 * and downloads often do, but not the extension of a page or program.
 *
 * @throws PosternError `attachment_type_refused`
 */
export function checkContent(bytes: Buffer, name: string): AttachmentType {
  if (bytes.length === 0) throw refused(name, "it is empty");
  const extension = extensionOf(name);
  const imageType = imageTypeOf(bytes);
  if (imageType !== null) {
    if (extension !== null && !imageExtensions.has(extension)) {
      throw refused(name, `it is an image with the extension .${extension}`);
    }
    const problem = imageProblem(bytes, imageType);
    if (problem !== null) throw refused(name, problem);
    return imageType;
  }
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") {
    if (extension !== null && extension !== "pdf") throw refused(name, `it is a PDF with the extension .${extension}`);
    if (!bytes.subarray(-endOfPdfBytes).includes("%%EOF")) throw refused(name, "it is a damaged PDF");
    return "application/pdf";
  }
  if (!isText(bytes)) throw refused(name, "it is neither an image (PNG, JPEG, GIF, WebP), a PDF nor UTF-8 text");
  if (extension !== null && binaryExtensions.has(extension)) {
    throw refused(name, `its content is not that of a .${extension} file`);
  }
  return "text/plain";
}

function refused(name: string, reason: string) {
  return attachmentError("attachment_type_refused", `The file "${name}" is refused: ${reason}.`);
}

/**
 * Refuses a file if the caller gave another type than its content has. Callers do not know the types of code, and send everything unknown
 * as `application/octet-stream`.
 * @throws PosternError `attachment_type_refused`
 */
export function refuseOtherType(
  { name, mediaType }: { readonly name: string; readonly mediaType: string | null },
  type: AttachmentType,
): void {
  const said = mediaType?.toLowerCase() ?? "";
  const saysImage = /^image\/(?!svg)/.test(said);
  if (saysImage !== isImageType(type) && (saysImage || said.startsWith("text/") || said === "application/pdf")) {
    throw refused(name, `it is sent as ${said}, but its content is ${type}`);
  }
}

// File systems do not support longer names.
const maxNameLength = 255;

/** Refuses a name that could lead elsewhere, or that cannot be shown. @throws PosternError `invalid_request` */
export function refuseName(name: string): void {
  const isFine =
    name.length > 0 &&
    name.length <= maxNameLength &&
    !/^\.{1,2}$|[/\\\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(name) &&
    name.isWellFormed();
  if (isFine) return;
  throw attachmentError(
    "invalid_request",
    "The file name is invalid: 1 to 255 characters without slashes, backslashes and control characters, and not `.` or `..`.",
  );
}

// The mark of the end can be followed by white space, and in files from scanners by a little more.
const endOfPdfBytes = 2_048;

/** The part of a name after its last dot, in lower case; null without one. */
export function extensionOf(name: string): string | null {
  return /[^.]\.([A-Za-z0-9]{1,16})$/.exec(name)?.[1]?.toLowerCase() ?? null;
}

/** A name for the disk and for prompts: ASCII letters, digits and `._-` only, with an extension from which agents recognize the type. */
export function fileNameFor(name: string, type: AttachmentType): string {
  const [given] = extensions[type];
  const extension = extensionOf(name);
  const stem = (extension === null ? name : name.slice(0, -extension.length - 1))
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, maxStemLength);
  const wanted = type === "text/plain" ? (extension ?? given) : (given ?? extension);
  return `${stem === "" ? "file" : stem}.${wanted ?? "txt"}`;
}

const maxStemLength = 60;

function isText(bytes: Buffer): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return !text.includes("\0");
  } catch {
    return false; // the only thing that a fatal decoder throws for
  }
}

/** The problem of an image's structure; null if it is complete and nothing follows it. */
function imageProblem(bytes: Buffer, type: ImageType): string | null {
  const end = { "image/png": endOfPng, "image/jpeg": endOfJpeg, "image/gif": endOfGif, "image/webp": endOfWebp }[type](
    bytes,
  );
  if (end === null) return "it is a damaged image";
  // Cameras append a second picture or their own data to a JPEG. Only a JPEG can have data after its end, and not a page, script or archive.
  const behind = bytes.subarray(end);
  if (behind.length === 0) return null;
  if (type === "image/jpeg" && !activeContent.test(behind.toString("latin1"))) return null;
  return "other content follows the image in it";
}

/** How pages, scripts, documents and archives begin. */
const activeContent = /<(?:!doctype|html|head|body|script|svg|iframe|\?)|PK\x03\x04|%PDF-|\x7fELF|^MZ|^#!/i;

/** @see https://www.w3.org/TR/png-3/#5Chunk-layout */
function endOfPng(bytes: Buffer): number | null {
  for (let at = 8, chunks = 0; at + 12 <= bytes.length; chunks += 1) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (!/^[A-Za-z]{4}$/.test(type) || (chunks === 0 && type !== "IHDR")) return null;
    at += 12 + length;
    if (type === "IEND") return length === 0 && at <= bytes.length ? at : null;
  }
  return null;
}

/** The end of the first picture. @see ITU-T T.81, Annex B */
function endOfJpeg(bytes: Buffer): number | null {
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) at += 1;
    else if (marker === 0xd9) return at + 2;
    else if (marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) return null;
    else {
      const next = at + 2 + bytes.readUInt16BE(at + 2);
      if (next < at + 4) return null;
      at = marker === 0xda ? endOfScan(bytes, next) : next;
    }
  }
  return at + 2 === bytes.length && bytes[at] === 0xff && bytes[at + 1] === 0xd9 ? bytes.length : null;
}

/** The end of the compressed data: the next marker that is not a restart. */
function endOfScan(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1] ?? 0;
    if (next !== 0x00 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
  return bytes.length;
}

/** @see https://www.w3.org/Graphics/GIF/spec-gif89a.txt */
function endOfGif(bytes: Buffer): number | null {
  const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  let at = 13 + tableBytes(bytes[10] ?? 0);
  while (at < bytes.length) {
    const block = bytes[at];
    if (block === 0x3b) return at + 1;
    if (block === 0x21) at += 2;
    else if (block === 0x2c) at += 11 + tableBytes(bytes[at + 9] ?? 0);
    else return null;
    for (let length = bytes[at] ?? 0; length > 0; length = bytes[at] ?? 0) at += 1 + length;
    at += 1;
  }
  return null;
}

/** @see RFC 9649 section 2.4 */
function endOfWebp(bytes: Buffer): number | null {
  if (bytes.length < 20 || !/^VP8[ LX]$/.test(bytes.toString("latin1", 12, 16))) return null;
  const size = bytes.readUInt32LE(4);
  const end = 8 + size + (size % 2);
  return end <= bytes.length ? end : end === bytes.length + 1 ? bytes.length : null;
}
