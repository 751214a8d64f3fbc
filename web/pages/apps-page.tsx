import { AppWindow } from "lucide-react";
import { useState } from "react";
import { scopeWords } from "../../src/wire/access.ts";
import { type ConnectedApp, oauthPaths } from "../../src/wire/oauth.ts";
import { useApps, useDisconnectApp } from "../api/access.ts";
import { useMay, useMe } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { Page, Section } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { RelativeTime, shortDate } from "../ui/time.tsx";
import { ClaimedName, plainName } from "../ui/untrusted.tsx";
import { KnownClients } from "./apps-clients.tsx";
import { documentHost, letInTo } from "./audit-words.ts";
import { ScopeBadges } from "./scope-list.tsx";

export function AppsPage() {
  const apps = useApps();
  const mayAdminister = useMay("admin");
  const [leaving, setLeaving] = useState<ConnectedApp | null>(null);
  return (
    <Page
      title="Connected apps"
      description="Apps that you approved. Each can do only what you allowed, until you disconnect it."
    >
      <Section title="Apps you approved">
        <QueryState query={apps} label="Loading apps" rows={2} />
        {apps.data?.length === 0 && (
          <EmptyState title="No connected apps">
            When an app asks for access, your browser shows which app it is and what it requests, and you decide. To
            connect an app, see below.
          </EmptyState>
        )}
        {apps.data !== undefined && apps.data.length > 0 && (
          <Rows label="Connected apps">
            {apps.data.map((app) => (
              <AppRow key={app.appId} app={app} onLeave={() => setLeaving(app)} />
            ))}
          </Rows>
        )}
      </Section>
      <ConnectHelp />
      {mayAdminister && <KnownClients />}
      {leaving !== null && <DisconnectDialog app={leaving} onClose={() => setLeaving(null)} />}
    </Page>
  );
}

function AppRow({ app, onLeave }: { readonly app: ConnectedApp; readonly onLeave: () => void }) {
  const { name, clientId, host, scopes, createdAt, lastUsedAt, expiresAt } = app;
  const describedAt = documentHost(clientId);
  return (
    <RecordRow
      icon={AppWindow}
      facts={[
        ["Approved", <RelativeTime key="at" at={createdAt} />],
        ["Last used", lastUsedAt === null ? "never" : <RelativeTime key="used" at={lastUsedAt} />],
        ...(expiresAt === null ? [] : [["Expires if unused", shortDate(expiresAt)] as const]),
      ]}
      actions={
        <Button onClick={onLeave} aria-label={`Disconnect ${plainName(name)}`}>
          Disconnect…
        </Button>
      }
    >
      <h3 className="font-medium">
        <ClaimedName name={name} />
      </h3>
      <p className="text-xs text-ink-faint">
        {letInTo(host)}
        {describedAt !== null && ` · described at ${describedAt}`}
      </p>
      <ScopeBadges scopes={scopes} />
    </RecordRow>
  );
}

function DisconnectDialog({ app, onClose }: { readonly app: ConnectedApp; readonly onClose: () => void }) {
  const disconnect = useDisconnectApp();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={
        <>
          Disconnect “<ClaimedName name={app.name} />
          ”?
        </>
      }
      description={
        <>
          <p>Its tokens stop working immediately, and its open connections close within five seconds. It could:</p>
          <ul className="my-2 list-disc pl-5">
            {app.scopes.map((scope) => (
              <li key={scope}>{scopeWords[scope].short}</li>
            ))}
          </ul>
          <p>Sessions that it started keep running. To reconnect, it has to ask you again.</p>
        </>
      }
      confirm="Disconnect"
      act={disconnect}
      onConfirm={() => disconnect.mutate(app.appId, { onSuccess: onClose })}
    />
  );
}

function ConnectHelp() {
  const baseUrl = useMe().data?.gateway.baseUrl ?? "";
  const address = `${baseUrl}${oauthPaths.mcp}`;
  return (
    <Section
      title="Connect an app"
      description="Any app that supports MCP (the Model Context Protocol) can use this gateway’s sessions as tools."
    >
      <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
        <CopyField label="MCP server address" text={address}>
          The app opens a page in your browser, where you decide what it can do.
        </CopyField>
        <CopyField label="For Claude Code" text={`claude mcp add --transport http postern ${address}`}>
          Then, in Claude Code: <code>/mcp</code>, choose “postern”, then “Authenticate”.
        </CopyField>
        <CopyField label="For Codex" text={`codex mcp add postern --url ${address}`}>
          Then <code>codex mcp login postern</code>.
        </CopyField>
      </div>
    </Section>
  );
}
