import { useMe } from "../api/me.ts";
import { Section } from "../ui/page.tsx";

/** Which gateway this is. */
export function AboutGateway() {
  const me = useMe().data;
  if (me === undefined) return null;
  return (
    <Section title="This gateway">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1 rounded-xl border border-line bg-panel p-4 text-sm">
        <dt className="text-ink-faint">Version</dt>
        <dd>{me.gateway.version}</dd>
        <dt className="text-ink-faint">Address</dt>
        <dd className="font-mono text-xs leading-[1.375rem]">{me.gateway.baseUrl}</dd>
        <dt className="text-ink-faint">Account</dt>
        <dd>
          {me.account.name}
          {me.account.isOwner ? ", the owner" : ""}
        </dd>
        <dt className="text-ink-faint">For programs</dt>
        <dd className="flex gap-3">
          {/* Not routes of this application: pages of the gateway. */}
          <a href="/docs" className="text-accent underline">
            API reference
          </a>
          <a href="/openapi.json" className="text-accent underline">
            OpenAPI
          </a>
        </dd>
      </dl>
    </Section>
  );
}
