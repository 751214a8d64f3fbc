import type { FastifyContextConfig } from "fastify";
import { type Principal, requireScope } from "../accounts/index.ts";
import type { Scope } from "../wire/access.ts";
import type { Access } from "./route-server.ts";

/** Who sits at the machine or at a page of the gateway, in person; `open` is any caller, as the owner configured. */
const inPerson: ReadonlySet<Principal["kind"]> = new Set(["browser", "socket", "open"]);

/** @throws PosternError `insufficient_scope` when a route of this access is not for the caller */
export function requireAccess(principal: Principal, access: Access | undefined): void {
  const scope = scopeNeeded(access);
  if (scope === null || (access === "own" && inPerson.has(principal.kind))) return;
  requireScope(principal, scope);
}

/**
 * For what a caller makes that holds scopes itself: no one gives more than they hold.
 * @throws PosternError `insufficient_scope` naming the first that the caller lacks
 */
export function requireAll(principal: Principal, scopes: readonly Scope[]): void {
  for (const scope of scopes) requireScope(principal, scope);
}

/** The scope that a token needs for a route of this access; null when any token will do. */
export function scopeNeeded(access: Access | undefined): Exclude<Access, "public" | "signed-in" | "own"> | null {
  if (access === undefined || access === "public" || access === "signed-in") return null;
  return access === "own" ? "admin" : access;
}

/** Whether a call may change who may do what: it does so by routes that no scope of a capability opens. */
export function changesRights(method: string, { access, resource }: FastifyContextConfig): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || resource !== undefined) return false;
  return access === "admin" || access === "own" || access === "signed-in";
}
