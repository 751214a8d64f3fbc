import type { ReactNode } from "react";
import type { Scope } from "../../src/wire/access.ts";
import { scopeWords } from "../../src/wire/access.ts";
import { useMe } from "../api/me.ts";
import { EmptyState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";

/** A page that needs a scope; for who lacks it, the reason in its place, and nothing of it is asked for. */
export function ForScope({
  scope,
  title,
  children,
}: {
  readonly scope: Scope;
  readonly title: string;
  readonly children: ReactNode;
}) {
  const me = useMe().data;
  if (me === undefined || me.scopes.includes(scope)) return children;
  return (
    <Page title={title}>
      <EmptyState
        title={
          scope === "admin" ? "This page is for the owner of the gateway." : "Your account does not reach this page."
        }
      >
        You are signed in as {me.account.name}, who may{" "}
        {me.scopes.map((held) => scopeWords[held].short).join(", ") || "do nothing"}. What is here needs the scope{" "}
        <code className="text-xs">{scope}</code>: {scopeWords[scope].short}. Accounts get it from the owner.
      </EmptyState>
    </Page>
  );
}
