/** A file that Postern attached to a prompt, as mentioned in the prompt's text. */
export interface AttachedRef {
  readonly attachmentId: string;
  /** Absolute. */
  readonly path: string;
}

/** One line for each file, in the words of an agent: a mention, or the path alone. */
const attachedLine =
  /^(?:@"?|Attached file: )(\/.{0,4096}\/attachments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[\w.-]{1,100})"?$/;
const attachedPath = /^\/.{0,4096}\/attachments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[\w.-]{1,100}$/;

/** The attachment at this path; null if it is another file. */
export function attachedAt(path: string): AttachedRef | null {
  const attachmentId = path.length > maxLineLength ? undefined : attachedPath.exec(path)?.[1];
  return attachmentId === undefined ? null : { attachmentId, path };
}

/** A longer line cannot mention an attachment, and is skipped. */
const maxLineLength = 4_400;
/** More than a prompt can have. */
const maxLines = 50;

/** The line that mentions a file in a prompt, for an agent that accepts paths. */
export function attachedPathLine(path: string): string {
  return `Attached file: ${path}`;
}

/**
 * A prompt without the lines at its end that Postern added to mention attachments. A text that has only such lines stays unchanged. The
 * time this takes depends only on the end of the text.
 */
export function splitAttached(text: string): { readonly text: string; readonly files: readonly AttachedRef[] } {
  const files: AttachedRef[] = [];
  let rest = text.trimEnd();
  while (files.length < maxLines) {
    const start = rest.lastIndexOf("\n") + 1;
    const line = rest.length - start > maxLineLength ? "" : rest.slice(start).trim();
    const [, path, attachmentId] = attachedLine.exec(line) ?? [];
    if (path === undefined || attachmentId === undefined) break;
    files.unshift({ attachmentId, path });
    rest = rest.slice(0, start).trimEnd();
  }
  return files.length === 0 || rest === "" ? { text, files: [] } : { text: rest, files };
}
