import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import type { Scope } from "../../src/wire/access.ts";
import { scopeWords } from "../../src/wire/access.ts";
import { createQueryClient } from "../api/query.ts";
import { useMe } from "../api/sign-in.ts";
import { SessionsPage } from "../pages/sessions-page.tsx";
import { EmptyState, LoadingPage } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { PageBoundary, Shell } from "./shell.tsx";

const SessionPage = lazy(async () => ({ default: (await import("../session/session-page.tsx")).SessionPage }));
const SignInPage = lazy(async () => ({ default: (await import("../pages/sign-in-page.tsx")).SignInPage }));
const WatchPage = lazy(async () => ({ default: (await import("../watch/watch-page.tsx")).WatchPage }));
const NewSessionPage = lazy(async () => ({ default: (await import("../pages/new-session-page.tsx")).NewSessionPage }));
const ComparisonPage = lazy(async () => ({ default: (await import("../compare/comparison-page.tsx")).ComparisonPage }));
const AgentsPage = lazy(async () => ({ default: (await import("../pages/agents-page.tsx")).AgentsPage }));
const AgentSetupPage = lazy(async () => ({ default: (await import("../setup/agent-setup-page.tsx")).AgentSetupPage }));
const FoldersPage = lazy(async () => ({ default: (await import("../pages/folders-page.tsx")).FoldersPage }));
const MemoryPage = lazy(async () => ({ default: (await import("../memory/memory-page.tsx")).MemoryPage }));
const LogPage = lazy(async () => ({ default: (await import("../memory/log-page.tsx")).LogPage }));
const EntitiesPage = lazy(async () => ({ default: (await import("../memory/entities-page.tsx")).EntitiesPage }));
const EntityPage = lazy(async () => ({ default: (await import("../memory/entity-page.tsx")).EntityPage }));
const AppsPage = lazy(async () => ({ default: (await import("../pages/apps-page.tsx")).AppsPage }));
const AccountsPage = lazy(async () => ({ default: (await import("../pages/accounts-page.tsx")).AccountsPage }));
const AuditPage = lazy(async () => ({ default: (await import("../pages/audit-page.tsx")).AuditPage }));
const TokensPage = lazy(async () => ({ default: (await import("../pages/tokens-page.tsx")).TokensPage }));
const SettingsPage = lazy(async () => ({ default: (await import("../pages/settings-page.tsx")).SettingsPage }));

const queryClient = createQueryClient();

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <BrowserRouter>
        <PageBoundary>
          <Suspense fallback={<LoadingPage />}>
            <Routes>
              <Route path="/sign-in" element={<SignInPage />} />
              <Route element={<Shell />}>
                <Route index element={needs("coding:read", "Sessions", <SessionsPage />)} />
                <Route path="/sessions/:sessionId" element={needs("coding:read", "Session", <SessionPage />)} />
                <Route path="/watch" element={needs("coding:read", "Watch", <WatchPage />)} />
                <Route path="/new" element={needs("coding:write", "New session", <NewSessionPage />)} />
                <Route path="/compare/:comparisonId" element={needs("coding:read", "Comparison", <ComparisonPage />)} />
                <Route path="/memory">
                  <Route index element={needs("logs:read", "Memory", <MemoryPage />)} />
                  <Route path="entities" element={needs("logs:read", "Memory", <EntitiesPage />)} />
                  <Route path="entities/:entityId" element={needs("logs:read", "Memory", <EntityPage />)} />
                  <Route path=":logId" element={needs("logs:read", "Memory", <LogPage />)} />
                </Route>
                <Route path="/agents" element={needs("coding:read", "Agents", <AgentsPage />)} />
                <Route path="/agents/:name" element={needs("admin", "Set up an agent", <AgentSetupPage />)} />
                <Route path="/folders" element={needs("admin", "Folders", <FoldersPage />)} />
                <Route path="/apps" element={<AppsPage />} />
                <Route path="/tokens" element={needs("admin", "Tokens", <TokensPage />)} />
                <Route path="/accounts" element={needs("admin", "Accounts", <AccountsPage />)} />
                <Route path="/audit" element={needs("admin", "Audit log", <AuditPage />)} />
                <Route path="/settings" element={<SettingsPage />} />
                <Route path="*" element={<NotFoundPage />} />
              </Route>
            </Routes>
          </Suspense>
        </PageBoundary>
      </BrowserRouter>
    </QueryClientProvider>
  );
}

function needs(scope: Scope, title: string, page: ReactNode): ReactNode {
  return (
    <ForScope scope={scope} title={title}>
      {page}
    </ForScope>
  );
}

/** Shows the page, or why the account cannot open it. */
function ForScope({ scope, title, children }: Readonly<{ scope: Scope; title: string; children: ReactNode }>) {
  const me = useMe().data;
  if (me === undefined || me.scopes.includes(scope)) return children;
  return (
    <Page title={title}>
      <EmptyState
        title={
          scope === "admin"
            ? "Only the owner of the gateway can open this page."
            : "Your account cannot open this page."
        }
      >
        You are signed in as {me.account.name}. This page needs the scope <code className="text-xs">{scope}</code> (
        {scopeWords[scope].short}). Ask the owner to grant it.
      </EmptyState>
    </Page>
  );
}

function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState title="Page not found">
        <Link to="/" className="text-accent underline">
          Go to sessions
        </Link>
      </EmptyState>
    </Page>
  );
}
