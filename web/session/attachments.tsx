import { FileText, ImagePlus, LoaderCircle, RotateCw, X } from "lucide-react";
import { type ClipboardEvent, type DragEvent, useEffect, useRef, useState } from "react";
import { imageTypes, maxAttachmentBytes, maxPromptAttachments } from "../../src/wire/attachments.ts";
import { IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { removeUpload, thumbnailOf, uploadFile } from "./upload.ts";

/** A file of a prompt that is being written. */
interface Item {
  readonly key: number;
  readonly file: File;
  readonly thumbnail: string | null;
  readonly state:
    | { readonly kind: "uploading"; readonly part: number }
    | { readonly kind: "ready"; readonly attachmentId: string }
    | { readonly kind: "failed"; readonly message: string };
}

/** The files of one prompt box. */
export interface PromptAttachments {
  /** Ids of the uploaded files. */
  readonly ids: readonly string[];
  /** Whether the prompt has to wait: a file is being uploaded, or was refused. */
  readonly isBlocked: boolean;
  /** Forgets the files here, because the gateway now has them. */
  clear(): void;
  /** For the element around the prompt. */
  readonly dropTarget: {
    readonly onPaste: (event: ClipboardEvent) => void;
    readonly onDragOver: (event: DragEvent) => void;
    readonly onDrop: (event: DragEvent) => void;
  };
  add(files: Iterable<File>): void;
  readonly items: readonly Item[];
  remove(key: number): void;
  retry(key: number): void;
}

let keys = 0;

/** @param sessionId null for a new session */
export function useAttachments(sessionId: string | null, enabled = true): PromptAttachments {
  const [items, setItems] = useState<readonly Item[]>([]);
  const running = useRef(new Map<number, AbortController>());
  useEffect(() => {
    const uploads = running.current;
    return () => {
      for (const upload of uploads.values()) upload.abort();
    };
  }, []);

  const change = (key: number, changes: Partial<Item>): void =>
    setItems((now) => now.map((item) => (item.key === key ? { ...item, ...changes } : item)));

  const start = async (key: number, file: File): Promise<void> => {
    const upload = new AbortController();
    running.current.set(key, upload);
    const onProgress = (part: number): void => change(key, { state: { kind: "uploading", part } });
    try {
      if (file.size > maxAttachmentBytes) throw new Error("Larger than 20 MB.");
      const { attachmentId } = await uploadFile(file, { sessionId, signal: upload.signal, onProgress });
      change(key, { state: { kind: "ready", attachmentId } });
    } catch (error) {
      if (upload.signal.aborted) return; // removed
      change(key, { state: { kind: "failed", message: error instanceof Error ? error.message : String(error) } });
    } finally {
      running.current.delete(key);
    }
  };

  const add = (files: Iterable<File>): void => {
    const room = maxPromptAttachments - items.length;
    for (const file of [...files].slice(0, room)) {
      keys += 1;
      const key = keys;
      setItems((now) => [...now, { key, file, thumbnail: null, state: { kind: "uploading", part: 0 } }]);
      void thumbnailOf(file).then((thumbnail) => change(key, { thumbnail }));
      void start(key, file);
    }
  };

  const take = (event: ClipboardEvent | DragEvent, data: DataTransfer): void => {
    const files = [...data.files];
    if (!enabled || files.length === 0) return;
    event.preventDefault();
    add(files);
  };

  return {
    items,
    ids: items.flatMap(({ state }) => (state.kind === "ready" ? [state.attachmentId] : [])),
    isBlocked: items.some(({ state }) => state.kind !== "ready"),
    clear: () => setItems([]),
    add,
    remove(key) {
      running.current.get(key)?.abort();
      const state = items.find((item) => item.key === key)?.state;
      if (state?.kind === "ready") removeUpload(state.attachmentId);
      setItems((now) => now.filter((item) => item.key !== key));
    },
    retry(key) {
      const item = items.find((other) => other.key === key);
      if (item === undefined) return;
      change(key, { state: { kind: "uploading", part: 0 } });
      void start(key, item.file);
    },
    dropTarget: {
      onPaste: (event) => take(event, event.clipboardData),
      onDragOver: (event) => {
        if (enabled && event.dataTransfer.types.includes("Files")) event.preventDefault();
      },
      onDrop: (event) => take(event, event.dataTransfer),
    },
  };
}

/** On a phone, its menu offers the camera too. */
export function AttachButton({
  attachments,
  disabled,
}: {
  readonly attachments: PromptAttachments;
  readonly disabled: boolean;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton label="Attach files" icon={ImagePlus} disabled={disabled} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        accept={[...imageTypes, "image/*", "application/pdf", "text/*", "*/*"].join(",")}
        onChange={(event) => {
          attachments.add(event.target.files ?? []);
          event.target.value = ""; // the same file can be chosen again
        }}
      />
    </>
  );
}

/** The files above a prompt, with their progress. */
export function AttachmentStrip({ attachments }: { readonly attachments: PromptAttachments }) {
  if (attachments.items.length === 0) return null;
  return (
    <ul aria-label="Attached files" className="mb-2 flex flex-wrap gap-2">
      {attachments.items.map(({ key, file, thumbnail, state }) => (
        <li
          key={key}
          className={classNames(
            "relative flex h-14 items-center gap-2 overflow-hidden rounded-lg border bg-raised pr-1.5",
            state.kind === "failed" ? "w-96 max-w-full border-danger" : "max-w-60 border-line-strong",
          )}
        >
          {thumbnail === null ? (
            <span className="flex size-14 shrink-0 items-center justify-center bg-panel text-ink-faint">
              <FileText aria-hidden className="size-5" />
            </span>
          ) : (
            <img src={thumbnail} alt="" className="size-14 shrink-0 object-cover" />
          )}
          <span className="min-w-0 flex-1 text-2xs">
            <span className="block truncate font-medium text-ink" title={file.name}>
              {file.name}
            </span>
            <span
              role={state.kind === "failed" ? "alert" : undefined}
              title={state.kind === "failed" ? state.message : undefined}
              className={state.kind === "failed" ? "line-clamp-2 text-danger" : "block truncate text-ink-faint"}
            >
              {state.kind === "failed" ? state.message : sizeWords(file.size)}
            </span>
          </span>
          {state.kind === "uploading" && <LoaderCircle aria-hidden className="size-3.5 animate-spin text-ink-faint" />}
          {state.kind === "failed" && (
            <IconButton label={`Upload ${file.name} again`} icon={RotateCw} onClick={() => attachments.retry(key)} />
          )}
          <IconButton label={`Remove ${file.name}`} icon={X} onClick={() => attachments.remove(key)} />
          {state.kind === "uploading" && (
            <progress
              aria-label={`Uploading ${file.name}`}
              max={1}
              value={state.part}
              className="absolute inset-x-0 bottom-0 h-0.5 w-full appearance-none [&::-webkit-progress-bar]:bg-transparent [&::-webkit-progress-value]:bg-accent"
            />
          )}
        </li>
      ))}
    </ul>
  );
}

export function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
