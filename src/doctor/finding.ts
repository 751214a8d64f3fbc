import type { Finding } from "../wire/doctor.ts";

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message, fix: null };
}

export function warning(check: string, message: string, fix: string | null): Finding {
  return { check, level: "warning", message, fix };
}

export function failure(check: string, message: string, fix: string | null): Finding {
  return { check, level: "failure", message, fix };
}
