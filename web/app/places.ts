import {
  AppWindow,
  BookMarked,
  Bot,
  DoorOpen,
  Folder,
  Grid2x2,
  KeyRound,
  List,
  type LucideIcon,
  Plus,
  ScrollText,
  Settings,
  Users,
} from "lucide-react";
import type { Scope } from "../../src/wire/access.ts";

/** A page in the navigation. */
export interface Place {
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  readonly keys: string;
  /** Without this scope the page has nothing to show. */
  readonly needs?: Scope;
}

export const newSessionPlace: Place = {
  to: "/new",
  label: "New session",
  icon: Plus,
  keys: "n",
  needs: "coding:write",
};

/** Always in the sidebar. */
export const mainPlaces: readonly Place[] = [
  { to: "/", label: "Sessions", icon: List, keys: "g s", needs: "coding:read" },
  { to: "/watch", label: "Watch", icon: Grid2x2, keys: "g l", needs: "coding:read" },
  { to: "/memory", label: "Memory", icon: BookMarked, keys: "g m", needs: "logs:read" },
  { to: "/agents", label: "Agents", icon: Bot, keys: "g a", needs: "coding:read" },
  { to: "/folders", label: "Folders", icon: Folder, keys: "g f", needs: "admin" },
];

/** Pages about access, in one group of the sidebar that is collapsed unless one of its pages is open. */
export const accessPlaces: readonly Place[] = [
  { to: "/apps", label: "Connected apps", icon: AppWindow, keys: "g c" },
  { to: "/tokens", label: "Tokens", icon: KeyRound, keys: "g t", needs: "admin" },
  { to: "/accounts", label: "Accounts", icon: Users, keys: "g u", needs: "admin" },
  { to: "/audit", label: "Audit log", icon: ScrollText, keys: "g w", needs: "admin" },
];
export const accessIcon: LucideIcon = DoorOpen;

export const settingsPlace: Place = { to: "/settings", label: "Settings", icon: Settings, keys: "g ," };

export function placesFor(scopes: readonly Scope[]): readonly Place[] {
  return visible([newSessionPlace, ...mainPlaces, ...accessPlaces, settingsPlace], scopes);
}

export function visible(places: readonly Place[], scopes: readonly Scope[]): readonly Place[] {
  return places.filter(({ needs }) => needs === undefined || scopes.includes(needs));
}

/** Whether every word of `wanted` occurs in `text`, in any order, ignoring case and accents. */
export function matchesWords(text: string, wanted: string): boolean {
  const folded = fold(text);
  return fold(wanted)
    .split(/\s+/)
    .every((word) => folded.includes(word));
}

function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
}
