import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import type { ChangedFile, DiffAgainst } from "../../src/wire/changes.ts";
import { type ReviewedFile, reviewedFileSchema } from "../../src/wire/reviewed-files.ts";
import { reading } from "../api/client.ts";
import { sizeWords } from "../session/attachments.tsx";
import { readReviewedImage } from "../session/upload.ts";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";

interface Shown {
  readonly content: ReviewedFile;
  /** A data URL. */
  readonly image: string | null;
}

/** A changed file without a patch, before and after: images as images, others by their size. */
export function FileSides(props: {
  readonly sessionId: string;
  readonly file: ChangedFile;
  readonly against: DiffAgainst;
}) {
  const { sessionId, against } = props;
  const { path, previousPath, status, version } = props.file;
  const sides = [
    ...(status === "added" || status === "untracked" ? [] : [{ side: "old", path: previousPath ?? path } as const]),
    ...(status === "deleted" ? [] : [{ side: "new", path } as const]),
  ];
  const read = useQueries({
    queries: sides.map((side) => ({
      queryKey: ["diff", sessionId, "side", against, side.side, side.path, version],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<Shown> => {
        const content = await reading.getReviewedFile(
          { sessionId, against, ...side },
          { signal, output: reviewedFileSchema },
        );
        const image = content.imageType && (await readReviewedImage({ sessionId, against, ...side }, signal));
        return { content, image };
      },
      staleTime: Infinity,
      gcTime: 30_000,
    })),
  });
  const error = read.find((one) => one.error !== null)?.error ?? null;
  if (error !== null) return <ErrorNotice error={error} />;
  const shown = read.flatMap(({ data }) => (data === undefined ? [] : [data]));
  if (shown.length < sides.length) return <LoadingRows label={`Loading ${path}`} rows={2} />;
  const isText = shown.some(({ content }) => content.text !== null);
  return (
    <>
      {shown.every(({ image }) => image === null) && (
        <p className="mb-1.5">{isText ? "Too large to show." : "Binary file, or too large to show."}</p>
      )}
      <div className="flex flex-wrap gap-4">
        {shown.map(({ content, image }) => (
          <Side key={content.side} content={content} image={image} alone={sides.length === 1} />
        ))}
      </div>
    </>
  );
}

function Side({ content, image, alone }: Shown & { readonly alone: boolean }) {
  const { side, sizeBytes, path } = content;
  const [pixels, setPixels] = useState("");
  const when = side === "old" ? "Before" : "After";
  const words = [alone ? null : when, sizeBytes === null ? "not there" : sizeWords(sizeBytes), pixels];
  return (
    <figure className="min-w-0">
      {image !== null && (
        <img
          src={image}
          alt={`${path} ${when.toLowerCase()} the change`}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setPixels(`${naturalWidth}×${naturalHeight}`)}
          className="max-h-80 max-w-full rounded border border-line-strong bg-raised object-contain"
        />
      )}
      <figcaption className="mt-1">{words.filter((word) => word !== null && word !== "").join(" · ")}</figcaption>
    </figure>
  );
}
