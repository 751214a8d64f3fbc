import type { InspectedStore } from "../storage/inspect.ts";
import type { Finding } from "../wire/doctor.ts";
import { failure, ok, shellWord, warning } from "./finding.ts";

/** Whether the store can be opened by this version. */
export function checkStore(
  store: Pick<InspectedStore, "state" | "place" | "reason">,
  { isFile }: { readonly isFile: boolean },
): readonly Finding[] {
  const { state, place, reason } = store;
  switch (state) {
    case "missing":
      return [ok("store", `There is no store at ${place} yet; the first command makes it.`)];
    case "current":
      return [ok("store", `The store at ${place} opens and has this version's tables.`)];
    case "older":
      return [
        warning(
          "store",
          `The store at ${place} is of an older Postern; the next start brings it forward.`,
          "postern serve",
        ),
      ];
    case "newer":
      return [
        failure(
          "store",
          `The store at ${place} was written by a newer Postern, which has to run it.`,
          "npm install --global postern@latest",
        ),
      ];
    case "damaged": {
      const fix = isFile ? `mv ${shellWord(place)} ${shellWord(place)}.damaged` : "postern doctor --json";
      const what = isFile
        ? "put it back from a backup, or begin with a new one"
        : "see that the server runs and lets you in";
      return [
        failure(
          "store",
          `The store at ${place} cannot be read: ${reason ?? "no reason is told"}; ${what}.`,
          isFile ? fix : null,
        ),
      ];
    }
  }
}

/** Two machines, or a network's time service, may differ by this much without harm. */
const toleranceMs = 60_000;

/** A clock that is behind what was already written down: links and tokens then live too long, and order is lost. */
export function checkClock(nowMs: number, newest: readonly (number | null)[]): readonly Finding[] {
  const behindMs = Math.max(0, ...newest.flatMap((at) => (at === null ? [] : [at - nowMs])));
  if (behindMs <= toleranceMs)
    return [ok("clock", `The clock says ${new Date(nowMs).toISOString()}, later than all that is stored.`)];
  const fix = process.platform === "darwin" ? "sudo sntp -sS time.apple.com" : "sudo timedatectl set-ntp true";
  const minutes = Math.ceil(behindMs / 60_000);
  return [
    failure(
      "clock",
      `The clock says ${new Date(nowMs).toISOString()}, ${minutes} min before something that is stored already.`,
      fix,
    ),
  ];
}
