import { CloudOff } from "lucide-react";
import { useEffect, useState } from "react";
import { useEventsState } from "../api/live-events.ts";

/** A gateway that restarts is back sooner than anybody would read of it. */
const quietMs = 1_200;

/** Says when the page does not hear of what happens, for as long as it does not. */
export function ConnectionNote() {
  const offline = useEventsState() === "offline";
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
          The connection to the gateway is lost. Connecting again… Agents go on meanwhile.
        </p>
      )}
    </div>
  );
}
