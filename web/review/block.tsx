import { type ReactNode, useEffect, useRef, useState } from "react";

/** Part of a list that is rendered while it is near the visible part, or `kept`. Otherwise empty space takes its place. */
export function Block({
  heightPx,
  kept,
  children,
}: {
  /** The estimated height, used until it is rendered. */
  readonly heightPx: number;
  readonly kept: boolean;
  readonly children: () => ReactNode;
}) {
  const element = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ near: false, heightPx });
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        if (entry === undefined) return;
        const { isIntersecting: near, boundingClientRect } = entry;
        setPlace((before) => ({ near, heightPx: near ? before.heightPx : boundingClientRect.height }));
      },
      { rootMargin: "1200px 0px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  const shown = place.near || kept;
  return (
    <div ref={element} style={shown ? undefined : { height: place.heightPx }}>
      {shown && children()}
    </div>
  );
}
