import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useLocation } from "react-router";

/** Rendered above and below the viewport, so that scrolling shows no gaps. */
const beyondPx = 900;
/** Lists whose scroll position is stored. */
const maxPlaces = 30;

interface Place {
  readonly topPx: number;
  readonly heights: ReadonlyMap<number, number>;
}

/** Scroll positions by history entry. */
const places = new Map<string, Place>();

/** The rendered parts, and the height of the rest. */
interface Range {
  readonly first: number;
  readonly last: number;
  readonly abovePx: number;
  readonly belowPx: number;
}

/** Renders only the parts of a long list near the viewport, each an element with `data-part`. Going back restores the position. The page's `main` scrolls. */
export function useSight(props: {
  readonly parts: number;
  /** Estimated height of a part. */
  readonly partPx: number;
  /** The estimated height of the last part. */
  readonly lastPx: number;
}): Range & { readonly list: RefObject<HTMLDivElement | null> } {
  const { parts, partPx, lastPx } = props;
  const { key } = useLocation();
  const list = useRef<HTMLDivElement>(null);
  const [kept] = useState(() => places.get(key));
  const heights = useRef(new Map(kept?.heights));
  const topPx = useRef(kept?.topPx ?? 0);
  const restored = useRef(false);
  const [range, setRange] = useState<Range>(() => {
    let belowPx = 0;
    for (let part = 1; part < parts; part++) belowPx += kept?.heights.get(part) ?? partPx;
    return { first: 0, last: 0, abovePx: 0, belowPx };
  });

  const heightOf = useCallback(
    (part: number): number => heights.current.get(part) ?? (part === parts - 1 ? lastPx : partPx),
    [parts, partPx, lastPx],
  );

  useLayoutEffect(() => {
    const element = list.current;
    const scroller = element?.closest("main") ?? null;
    if (element === null || scroller === null) return;
    const look = (): void => {
      const fromPx = scroller.getBoundingClientRect().top - element.getBoundingClientRect().top - beyondPx;
      const toPx = fromPx + scroller.clientHeight + 2 * beyondPx;
      let first = 0;
      let abovePx = 0;
      while (first < parts - 1 && abovePx + heightOf(first) < fromPx) abovePx += heightOf(first++);
      let last = first;
      let endPx = abovePx + heightOf(first);
      while (last < parts - 1 && endPx < toPx) endPx += heightOf(++last);
      let belowPx = 0;
      for (let part = last + 1; part < parts; part++) belowPx += heightOf(part);
      setRange((before) => {
        const same = before.first === first && before.last === last;
        return same && before.abovePx === abovePx && before.belowPx === belowPx
          ? before
          : { first, last, abovePx, belowPx };
      });
    };
    if (!restored.current) scroller.scrollTop = topPx.current;
    restored.current = true;
    look();
    // Synchronous, because before a later render, a key could move the focus into a part that is about to unmount.
    const lookNow = (): void => flushSync(look);
    const onScroll = (): void => {
      topPx.current = scroller.scrollTop;
      lookNow();
    };
    const observer = new ResizeObserver((entries) => {
      for (const { target, borderBoxSize } of entries) {
        const part = target instanceof HTMLElement ? target.dataset["part"] : undefined;
        const height = borderBoxSize[0]?.blockSize ?? 0;
        if (part !== undefined && height > 0) heights.current.set(Number(part), height);
      }
      lookNow();
    });
    const watchParts = (): void => {
      observer.disconnect();
      for (const one of element.querySelectorAll("[data-part]")) observer.observe(one);
    };
    watchParts();
    const changes = new MutationObserver(watchParts);
    changes.observe(element, { childList: true });
    scroller.addEventListener("scroll", onScroll, { passive: true });
    window.addEventListener("resize", lookNow);
    return () => {
      observer.disconnect();
      changes.disconnect();
      scroller.removeEventListener("scroll", onScroll);
      window.removeEventListener("resize", lookNow);
    };
  }, [parts, heightOf]);

  useLayoutEffect(() => {
    const seen = heights.current;
    return () => {
      places.delete(key);
      places.set(key, { topPx: topPx.current, heights: new Map(seen) });
      const [oldest] = places.keys();
      if (places.size > maxPlaces && oldest !== undefined) places.delete(oldest);
    };
  }, [key]);

  const last = Math.min(range.last, parts - 1);
  const first = Math.min(range.first, last);
  return { list, ...range, first, last };
}
