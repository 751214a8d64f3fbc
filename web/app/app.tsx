import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { BrowserRouter, Route, Routes } from "react-router";
import { SessionsPage } from "../pages/sessions-page.tsx";
import { Shell } from "./shell.tsx";

const SessionPage = lazy(async () => ({ default: (await import("../session/session-page.tsx")).SessionPage }));
const SignInPage = lazy(async () => ({ default: (await import("../pages/sign-in-page.tsx")).SignInPage }));
const NewSessionPage = lazy(async () => ({ default: (await import("../pages/new-session-page.tsx")).NewSessionPage }));
const AgentsPage = lazy(async () => ({ default: (await import("../pages/agents-page.tsx")).AgentsPage }));
const FoldersPage = lazy(async () => ({ default: (await import("../pages/folders-page.tsx")).FoldersPage }));
const TokensPage = lazy(async () => ({ default: (await import("../pages/tokens-page.tsx")).TokensPage }));
const SettingsPage = lazy(async () => ({ default: (await import("../pages/settings-page.tsx")).SettingsPage }));

const queryClient = new QueryClient();

/** All pages. */
export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <BrowserRouter>
        <Suspense>
          <Routes>
            <Route path="/sign-in" element={<SignInPage />} />
            <Route element={<Shell />}>
              <Route index element={<SessionsPage />} />
              <Route path="/sessions/:sessionId" element={<SessionPage />} />
              <Route path="/new" element={<NewSessionPage />} />
              <Route path="/agents" element={<AgentsPage />} />
              <Route path="/folders" element={<FoldersPage />} />
              <Route path="/tokens" element={<TokensPage />} />
              <Route path="/settings" element={<SettingsPage />} />
            </Route>
          </Routes>
        </Suspense>
      </BrowserRouter>
    </QueryClientProvider>
  );
}
