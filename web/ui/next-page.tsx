import { useEffect, useRef } from "react";
import { Button } from "./button.tsx";

/** Asks for the next page when its place comes into view. */
export function NextPage({
  label,
  has,
  busy,
  onNext,
}: {
  readonly label: string;
  readonly has: boolean;
  readonly busy: boolean;
  readonly onNext: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const next = useRef(onNext);
  useEffect(() => {
    next.current = onNext;
  });
  useEffect(() => {
    // Looked at anew after each page: its place may be in view still, and a page may have been given up for newer news.
    if (!has || busy || place.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) next.current();
      },
      { rootMargin: "600px" },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [has, busy]);
  if (!has) return null;
  return (
    <div ref={place} className="flex justify-center py-3">
      <Button variant="ghost" busy={busy} onClick={onNext}>
        {label}
      </Button>
    </div>
  );
}
