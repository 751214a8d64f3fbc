import { useQueries } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, FileText, X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { createContext, type KeyboardEvent, useCallback, useContext, useState } from "react";
import { imageTypes } from "../../src/wire/attachments.ts";
import type { ResultImage, TurnAttachment, TurnImage } from "../../src/wire/turn.ts";
import { hasCode } from "../api/api-error.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { sizeWords } from "./attachments.tsx";
import { type ResultImagePlace, readPicture, readResultImage } from "./upload.ts";

interface Picture {
  readonly src: string;
  readonly alt: string;
}

/** The pictures and files of a prompt. The gateway sends only image types that cannot contain code. */
export function PromptFiles(props: {
  readonly images: readonly TurnImage[];
  readonly attachments: readonly TurnAttachment[];
}) {
  const { images, attachments } = props;
  const isPicture = ({ mediaType }: TurnAttachment): boolean => imageTypes.some((type) => type === mediaType);
  const stored = attachments.filter(isPicture);
  const read = useQueries({
    queries: stored.map(({ attachmentId }) => ({
      queryKey: ["attachment", attachmentId],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => readPicture(attachmentId, signal),
      // Its content never changes.
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  const inline = images.filter(({ data }) => data !== null);
  const pictures: readonly Picture[] = [
    ...inline.map(({ mediaType, data }, index) => ({
      src: `data:${mediaType};base64,${data ?? ""}`,
      alt: inline.length === 1 ? "Image in the prompt" : `Image ${index + 1} in the prompt`,
    })),
    ...stored.flatMap(({ name }, index) => {
      const src = read[index]?.data;
      return src === undefined ? [] : [{ src, alt: name }];
    }),
  ];
  return (
    <div className="mt-1.5 flex flex-wrap items-end gap-2">
      <Gallery pictures={pictures} />
      {images.length > inline.length && <span className="text-xs text-ink-faint">An image is too large to show.</span>}
      {stored.map(({ attachmentId, name }, index) => {
        const { error, refetch } = read[index] ?? {};
        if (!error) return null;
        return hasCode(error, "attachment_not_found") ? (
          <FileChip key={attachmentId} name={name} note="deleted" />
        ) : (
          <Button key={attachmentId} size="sm" onClick={() => void refetch?.()}>
            Load {name} again
          </Button>
        );
      })}
      {attachments
        .filter((attachment) => !isPicture(attachment))
        .map(({ attachmentId, name, sizeBytes }) => (
          <FileChip key={attachmentId} name={name} note={sizeBytes === null ? "deleted" : sizeWords(sizeBytes)} />
        ))}
    </div>
  );
}

/** The session and the turn that are shown; null if images of results cannot be read. */
export const ShownTurn = createContext<Pick<ResultImagePlace, "sessionId" | "turn"> | null>(null);

/** The images that a tool returned. They are loaded when they are near the visible part. */
export function ResultImages({ call, images }: { readonly call: string; readonly images: readonly ResultImage[] }) {
  const place = useContext(ShownTurn);
  const [isNear, setNear] = useState(false);
  const watch = useCallback((element: HTMLElement | null) => {
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setNear(true),
      { rootMargin: "600px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const read = useQueries({
    queries: images.map((_, image) => ({
      queryKey: ["result image", place?.sessionId, place?.turn, call, image],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => {
        if (place === null) throw new Error("No session.");
        return readResultImage({ ...place, call, image }, signal);
      },
      enabled: isNear && place !== null,
      // Its content never changes.
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  if (place === null) return null;
  const pictures = read.flatMap(({ data }, index) =>
    data === undefined
      ? []
      : [{ src: data, alt: images.length === 1 ? "Image in the result" : `Image ${index + 1} in the result` }],
  );
  const failed = read.filter(({ error }) => error !== null);
  return (
    <div
      ref={watch}
      className={classNames(
        "flex flex-wrap items-end gap-2 border-t border-line p-2.5",
        pictures.length === 0 && failed.length === 0 && "min-h-24",
      )}
    >
      <Gallery pictures={pictures} />
      {failed.length > 0 && (
        <Button size="sm" onClick={() => void Promise.all(failed.map(({ refetch }) => refetch()))}>
          Load the image again
        </Button>
      )}
    </div>
  );
}

function FileChip({ name, note }: { readonly name: string; readonly note: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1.5 rounded-md border border-line bg-raised px-2 py-1 text-xs">
      <FileText aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
      <span className="truncate">{name}</span>
      <span className="shrink-0 text-ink-faint">{note}</span>
    </span>
  );
}

/** Pictures that can be enlarged. */
function Gallery({ pictures }: { readonly pictures: readonly Picture[] }) {
  const [open, setOpen] = useState<number | null>(null);
  const shown = open === null ? undefined : pictures[open];
  const step = (by: number): void => setOpen((now) => ((now ?? 0) + by + pictures.length) % pictures.length);
  const onKeyDown = ({ key }: KeyboardEvent): void => {
    if (key === "ArrowRight") step(1);
    if (key === "ArrowLeft") step(-1);
  };
  return (
    <>
      {pictures.map(({ src, alt }, index) => (
        // The pictures of a prompt are identified only by their position.
        <button
          key={index}
          type="button"
          aria-label={`Show ${alt}`}
          onClick={() => setOpen(index)}
          className="rounded-md"
        >
          <img
            src={src}
            alt={alt}
            loading="lazy"
            className="max-h-72 max-w-full rounded-md border border-line hover:border-accent"
          />
        </button>
      ))}
      {shown !== undefined && (
        <Radix.Root open onOpenChange={(next) => !next && setOpen(null)}>
          <Radix.Portal>
            <Radix.Overlay className="fixed inset-0 z-40 bg-veil backdrop-blur-sm" />
            <Radix.Content
              aria-describedby={undefined}
              onKeyDown={onKeyDown}
              className="fixed inset-0 z-50 flex flex-col items-center justify-center gap-3 p-4 focus:outline-none"
            >
              <img src={shown.src} alt={shown.alt} className="max-h-[85dvh] max-w-full object-contain" />
              <div className="flex items-center gap-2 rounded-lg border border-line bg-panel px-2 py-1">
                {pictures.length > 1 && (
                  <IconButton label="Previous image" icon={ChevronLeft} onClick={() => step(-1)} />
                )}
                <Radix.Title className="max-w-[60vw] truncate text-sm">
                  {shown.alt}
                  {pictures.length > 1 && ` (${(open ?? 0) + 1} of ${pictures.length})`}
                </Radix.Title>
                {pictures.length > 1 && <IconButton label="Next image" icon={ChevronRight} onClick={() => step(1)} />}
                <Radix.Close asChild>
                  <IconButton label="Close" icon={X} />
                </Radix.Close>
              </div>
            </Radix.Content>
          </Radix.Portal>
        </Radix.Root>
      )}
    </>
  );
}
