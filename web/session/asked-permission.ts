import { useEffect, useRef } from "react";
import { useLocation } from "react-router";
import type { PendingPermission } from "../../src/wire/coding.ts";

/** The id of a permission request's card, and the hash of the address that focuses it. */
export function permissionCardId(permissionId: string): string {
  return `permission-${permissionId}`;
}

/** Shows and focuses the request in the address, for example after a click on a notification. Once for each visit of the address. */
export function useAskedPermission(permissions: readonly PendingPermission[], show: () => void): void {
  const { hash, key } = useLocation();
  const done = useRef<string | null>(null);
  const wanted = safelyDecoded(hash.slice(1));
  const isOpen = permissions.some(({ permissionId }) => permissionCardId(permissionId) === wanted);
  const latestShow = useRef(show);
  useEffect(() => {
    latestShow.current = show;
  });
  useEffect(() => {
    if (!isOpen || done.current === key) return;
    done.current = key;
    latestShow.current();
    // After its tab is shown.
    const timer = setTimeout(() => document.getElementById(wanted)?.focus(), 50);
    return () => clearTimeout(timer);
  }, [isOpen, key, wanted]);
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // then it contains no request
  }
}
