import { useEffect } from "react";
import { useNavigate } from "react-router";
import { acting } from "../api/client.ts";
import { notifiedAccount } from "./notified-account.ts";

const presenceMs = 60_000;
/** After a quick reload, there is nothing to renew. */
const renewAfterMs = 3_000;

/** Renews this browser's subscription, opens the target of a notification, and reports that this page is in use. */
export function usePush(accountId: string | undefined): void {
  const navigate = useNavigate();
  useEffect(() => {
    const workers = "serviceWorker" in navigator ? navigator.serviceWorker : null;
    const open = ({ data }: MessageEvent<unknown>): void => {
      const path = pathIn(data);
      if (path !== null) void navigate(path);
    };
    workers?.addEventListener("message", open);
    return () => workers?.removeEventListener("message", open);
  }, [navigate]);

  useEffect(() => {
    if (accountId === undefined || notifiedAccount() !== accountId) return;
    const timer = setTimeout(() => {
      // Without a network, it is renewed at the next visit.
      void import("./this-browser.ts").then(({ renew }) => renew(accountId)).catch(() => undefined);
    }, renewAfterMs);
    return () => clearTimeout(timer);
  }, [accountId]);

  useEffect(() => {
    if (accountId === undefined || !window.matchMedia("(hover: hover) and (pointer: fine)").matches) return;
    const report = (): void => {
      // A lost report only causes an early notification.
      if (document.visibilityState === "visible") void acting.notePushPresence().catch(() => undefined);
    };
    report();
    const timer = setInterval(report, presenceMs);
    document.addEventListener("visibilitychange", report);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", report);
    };
  }, [accountId]);
}

/** Only addresses of this application. */
function pathIn(data: unknown): string | null {
  if (typeof data !== "object" || data === null || !("type" in data) || data.type !== "open") return null;
  return "path" in data && typeof data.path === "string" && /^\/(?!\/)/.test(data.path) ? data.path : null;
}
