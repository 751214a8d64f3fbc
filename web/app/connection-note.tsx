import { CloudOff } from "lucide-react";
import { useEffect, useState } from "react";
import { useConnected } from "../api/live-events.ts";

/** A gateway that restarts is back sooner than anybody would read of it. */
const quietMs = 1_200;

/** Says that the gateway cannot be reached, for as long as it cannot. Other parts of a page leave it to this note. */
export function ConnectionNote() {
  const offline = !useConnected();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!offline) return;
    const timer = setTimeout(() => setShown(true), quietMs);
    return () => {
      clearTimeout(timer);
      setShown(false);
    };
  }, [offline]);
  return (
    <div role="status">
      {shown && (
        <p className="flex items-center justify-center gap-2 border-b border-lamp-fill/40 bg-lamp-soft px-3 py-1 text-xs font-medium text-lamp">
          <CloudOff aria-hidden className="size-3.5 shrink-0" />
          The gateway cannot be reached. Reconnecting… Agents keep running.
        </p>
      )}
    </div>
  );
}
