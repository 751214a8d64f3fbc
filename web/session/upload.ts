import { errorOfAnswer } from "../../src/client/index.ts";
import { type Attachment, attachmentSchema, imageTypes } from "../../src/wire/attachments.ts";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import { acting, storedKey } from "../api/client.ts";

function headers(): Readonly<Record<string, string>> {
  const key = storedKey();
  return key === null ? {} : { [browserKeyHeader]: key };
}

/** Uploads a file; `fetch` does not report how much was sent. */
export function uploadFile(
  file: File,
  options: {
    readonly sessionId: string | null;
    readonly signal: AbortSignal;
    /** From 0 to 1. */
    readonly onProgress: (part: number) => void;
  },
): Promise<Attachment> {
  const { sessionId, signal, onProgress } = options;
  const query = sessionId === null ? "" : `?${new URLSearchParams({ sessionId }).toString()}`;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/coding/attachments${query}`);
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name === "" ? "file" : file.name));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total));
    request.addEventListener("load", () => {
      try {
        const answer: unknown = JSON.parse(request.responseText);
        if (request.status !== 201) reject(errorOfAnswer(request.status, answer));
        else resolve(attachmentSchema.parse(answer));
      } catch (error) {
        reject(error);
      }
    });
    request.addEventListener("error", () => reject(new Error("The upload was interrupted. Try again.")));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

/** Deletes a file that no prompt used. */
export function removeUpload(attachmentId: string): void {
  acting.removeAttachment({ attachmentId }).catch(() => undefined); // it is deleted after a day
}

const thumbnailPixels = 112;

/** A small picture of an image, or null for another file. */
export async function thumbnailOf(file: File): Promise<string | null> {
  if (!imageTypes.some((type) => type === file.type)) return null;
  try {
    const image = await createImageBitmap(file);
    const scale = thumbnailPixels / Math.min(image.width, image.height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.width * Math.min(1, scale)));
    canvas.height = Math.max(1, Math.round(image.height * Math.min(1, scale)));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    return canvas.toDataURL("image/webp");
  } catch {
    return null; // damaged: the gateway reports it
  }
}

/** An attachment as a data URL. Only images are asked for. @throws PosternClientError */
export function readPicture(attachmentId: string, signal: AbortSignal): Promise<string> {
  return readImage(`/api/coding/attachments/${encodeURIComponent(attachmentId)}`, signal);
}

/** An image in a tool's result. */
export interface ResultImagePlace {
  readonly sessionId: string;
  readonly turn: number;
  /** The id of the tool call. */
  readonly call: string;
  readonly image: number;
}

/** An image in a tool's result as a data URL. @throws PosternClientError */
export function readResultImage(place: ResultImagePlace, signal: AbortSignal): Promise<string> {
  const { sessionId, turn, call, image } = place;
  const query = new URLSearchParams({ call, image: String(image) }).toString();
  return readImage(`/api/coding/sessions/${encodeURIComponent(sessionId)}/turns/${turn}/image?${query}`, signal);
}

/** An image of a session's changes as a data URL. @throws PosternClientError */
export function readReviewedImage(
  {
    sessionId,
    ...file
  }: { readonly sessionId: string; readonly path: string; readonly side: string; readonly against: string },
  signal: AbortSignal,
): Promise<string> {
  const query = new URLSearchParams(file).toString();
  return readImage(`/api/coding/sessions/${encodeURIComponent(sessionId)}/file/image?${query}`, signal);
}

async function readImage(address: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(address, { headers: headers(), signal });
  if (!response.ok) throw errorOfAnswer(response.status, await response.json().catch(() => undefined));
  return dataUrlOf(await response.blob());
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () =>
      typeof reader.result === "string" ? resolve(reader.result) : reject(new Error("No text.")),
    );
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}
