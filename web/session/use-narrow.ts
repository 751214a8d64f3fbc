import { useSyncExternalStore } from "react";

/** Below it there is room for one thing beside another no more. */
const query = "(max-width: 767px)";

/** Whether the page is as narrow as a phone's. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}
