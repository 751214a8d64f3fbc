import type { ReactNode } from "react";
import { scopeWords } from "../../src/wire/scope-words.ts";
import { useMay, useMe } from "../api/me.ts";
import { EmptyState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";

/** A page that needs the scope `admin`; for who lacks it, the reason in its place, and nothing of it is asked for. */
export function ForAdministrators({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const allowed = useMay("admin");
  const me = useMe().data;
  if (allowed || me === undefined) return children;
  return (
    <Page title={title}>
      <EmptyState title="This page is for the owner of the gateway.">
        You are signed in as {me.account.name}, who may{" "}
        {me.scopes.map((scope) => scopeWords[scope].short).join(", ") || "nothing"}. What is here needs the scope{" "}
        <code className="text-xs">admin</code>.
      </EmptyState>
    </Page>
  );
}
