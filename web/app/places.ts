import {
  AppWindow,
  BookMarked,
  Bot,
  DoorOpen,
  Folder,
  KeyRound,
  List,
  type LucideIcon,
  Plus,
  ScrollText,
  Settings,
  Users,
} from "lucide-react";
import type { Scope } from "../../src/wire/access.ts";

/** A page that can be gone to from everywhere. */
export interface Place {
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Its shortcut, as in `Shortcut.keys`. */
  readonly keys: string;
  /** Without it there is nothing on the page that one could see. */
  readonly needs?: Scope;
}

export const newSessionPlace: Place = {
  to: "/new",
  label: "New session",
  icon: Plus,
  keys: "n",
  needs: "coding:write",
};

/** What the sidebar shows always. */
export const mainPlaces: readonly Place[] = [
  { to: "/", label: "Sessions", icon: List, keys: "g s", needs: "coding:read" },
  { to: "/memory", label: "Memory", icon: BookMarked, keys: "g m", needs: "logs:read" },
  { to: "/agents", label: "Agents", icon: Bot, keys: "g a", needs: "coding:read" },
  { to: "/folders", label: "Folders", icon: Folder, keys: "g f", needs: "admin" },
];

/** Who may come in, and who did: one entry of the sidebar, which opens on these pages. */
export const accessPlaces: readonly Place[] = [
  { to: "/apps", label: "Connected apps", icon: AppWindow, keys: "g c" },
  { to: "/tokens", label: "Tokens", icon: KeyRound, keys: "g t", needs: "admin" },
  { to: "/accounts", label: "Accounts", icon: Users, keys: "g u", needs: "admin" },
  { to: "/audit", label: "Audit log", icon: ScrollText, keys: "g w", needs: "admin" },
];
export const accessIcon: LucideIcon = DoorOpen;

export const settingsPlace: Place = { to: "/settings", label: "Settings", icon: Settings, keys: "g ," };

/** Those that show something to an account with these scopes. */
export function placesFor(scopes: readonly Scope[]): readonly Place[] {
  return visible([newSessionPlace, ...mainPlaces, ...accessPlaces, settingsPlace], scopes);
}

export function visible(places: readonly Place[], scopes: readonly Scope[]): readonly Place[] {
  return places.filter(({ needs }) => needs === undefined || scopes.includes(needs));
}
