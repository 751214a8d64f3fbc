import { oauthPaths } from "../../src/wire/oauth.ts";
import { useMe } from "../api/me.ts";
import { CopyField } from "../ui/copy-field.tsx";
import { Section } from "../ui/page.tsx";

/** The first step of an app: the address that it is told. */
export function ConnectHelp() {
  const baseUrl = useMe().data?.gateway.baseUrl ?? "";
  const address = `${baseUrl}${oauthPaths.mcp}`;
  return (
    <Section
      title="Connect an app"
      description="Whatever speaks MCP, the Model Context Protocol, can use this gateway’s sessions as its tools."
    >
      <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
        <CopyField label="Address of the MCP server" text={address}>
          The app opens a page of this gateway in your browser; there you decide what it may do.
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
