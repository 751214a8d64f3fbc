import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { reviewedFileSchema } from "../../src/wire/reviewed-files.ts";
import { reading } from "../api/client.ts";
import { fillGaps, isPatchOf, linesOfFile, linesOfPatch, type Opened, type PatchLine } from "./patch-lines.ts";

/** The lines of a patch, and those between its hunks that are opened. */
export interface Gaps {
  readonly lines: readonly PatchLine[];
  /** Opens more lines, and loads the file when called for the first time. */
  readonly open: (index: number, more: Opened) => void;
  readonly busy: boolean;
  /** Why no lines can be opened; null if they can. */
  readonly problem: string | null;
}

export function useGaps(file: {
  readonly sessionId: string;
  readonly path: string;
  readonly version: string;
  readonly patch: string;
}): Gaps {
  const { sessionId, path, version, patch } = file;
  const [opened, setOpened] = useState<{ readonly patch: string; readonly gaps: ReadonlyMap<number, Opened> }>(() => ({
    patch,
    gaps: new Map(),
  }));
  const gaps = opened.patch === patch ? opened.gaps : none;
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["diff", sessionId, "content", path, version],
    enabled: gaps.size > 0,
    queryFn: ({ signal }) => reading.getReviewedFile({ sessionId, path }, { signal, output: reviewedFileSchema }),
    staleTime: Infinity,
    gcTime: 30_000,
    retry: false,
  });
  const plain = useMemo(() => linesOfPatch(patch), [patch]);
  const text = data?.text ?? null;
  const content = useMemo(() => (text === null ? null : linesOfFile(text)), [text]);
  const fits = useMemo(() => content === null || isPatchOf(plain, content), [plain, content]);
  const lines = useMemo(() => fillGaps(plain, fits ? content : null, gaps), [plain, content, fits, gaps]);
  const problem =
    gaps.size === 0
      ? null
      : error !== null || (data !== undefined && text === null)
        ? "The file cannot be read."
        : fits
          ? null
          : "The file has changed since. Refresh to see it.";
  return {
    lines,
    open: (index, { head, tail }) => {
      if (error !== null) void refetch();
      const before = gaps.get(index) ?? { head: 0, tail: 0 };
      setOpened({ patch, gaps: new Map([...gaps, [index, { head: before.head + head, tail: before.tail + tail }]]) });
    },
    busy: isFetching,
    problem,
  };
}

const none: ReadonlyMap<number, Opened> = new Map();
