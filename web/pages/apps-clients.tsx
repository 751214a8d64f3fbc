import { useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import type { AddedClient, ClientOrigin, OAuthClient } from "../../src/wire/oauth.ts";
import { useAddClient, useClients, useRemoveClient } from "../api/access.ts";
import { fieldError } from "../api/api-error.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { ConfirmDialog, Dialog, FormDialog } from "../ui/dialog.tsx";
import { CheckField, TextArea, TextField } from "../ui/field.tsx";
import { QueryState } from "../ui/notice.tsx";
import { Section } from "../ui/page.tsx";
import { RecordRow, Rows } from "../ui/rows.tsx";
import { RelativeTime } from "../ui/time.tsx";
import { ClaimedName, plainName } from "../ui/untrusted.tsx";

const originWords: Readonly<Record<ClientOrigin, string>> = {
  registered: "registered itself",
  added: "added by you",
  document: "described at its own address",
};

/** Apps that can request access. Being listed grants none. */
export function KnownClients() {
  const clients = useClients();
  const [adding, setAdding] = useState(false);
  const [added, setAdded] = useState<AddedClient | null>(null);
  const [removing, setRemoving] = useState<OAuthClient | null>(null);
  return (
    <Section
      title="Known clients"
      description="Apps that can ask for access. Most register themselves; add others here."
      actions={<Button onClick={() => setAdding(true)}>Add a client</Button>}
    >
      <QueryState query={clients} label="Loading clients" rows={2} />
      {clients.data?.length === 0 && <p className="text-sm text-ink-faint">None yet.</p>}
      {clients.data !== undefined && clients.data.length > 0 && (
        <Rows label="Known clients">
          {clients.data.map((client) => (
            <ClientRow key={client.clientId} client={client} onRemove={() => setRemoving(client)} />
          ))}
        </Rows>
      )}
      {adding && (
        <AddClientDialog
          onClose={() => setAdding(false)}
          onAdded={(client) => {
            setAdding(false);
            setAdded(client);
          }}
        />
      )}
      {added !== null && <AddedDialog added={added} onClose={() => setAdded(null)} />}
      {removing !== null && <RemoveDialog client={removing} onClose={() => setRemoving(null)} />}
    </Section>
  );
}

function ClientRow({ client, onRemove }: { readonly client: OAuthClient; readonly onRemove: () => void }) {
  const { clientId, name, origin, redirectUris, confidential, createdAt, lastUsedAt } = client;
  return (
    <RecordRow
      facts={[
        ["Added", <RelativeTime key="at" at={createdAt} />],
        ["Last used", lastUsedAt === null ? "never" : <RelativeTime key="used" at={lastUsedAt} />],
      ]}
      actions={
        <Button variant="ghost" onClick={onRemove} aria-label={`Remove ${plainName(name)}`}>
          Remove…
        </Button>
      }
    >
      <div className="flex flex-wrap items-center gap-1.5">
        <h3 className="font-medium">
          <ClaimedName name={name} />
        </h3>
        <Badge tone={origin === "added" ? "accent" : "plain"}>{originWords[origin]}</Badge>
        {confidential && <Badge>Has a secret</Badge>}
      </div>
      <p className="font-mono text-2xs break-all text-ink-faint">{clientId}</p>
      <p className="text-2xs break-all text-ink-faint">
        {redirectUris.length === 0 ? "For devices, without a redirect" : `Redirects to ${redirectUris.join(", ")}`}
      </p>
    </RecordRow>
  );
}

function AddedDialog({ added, onClose }: { readonly added: AddedClient; readonly onClose: () => void }) {
  return (
    <Dialog
      onClose={onClose}
      title={
        <>
          The client “<ClaimedName name={added.name} />”
        </>
      }
      {...(added.clientSecret === null
        ? {}
        : { description: "Copy the secret now. It is shown only once; the gateway stores it encrypted." })}
    >
      <div className="flex flex-col gap-4">
        <CopyField label="Client ID" text={added.clientId} />
        {added.clientSecret !== null && <CopyField label="Client secret" text={added.clientSecret} />}
        <Button variant="primary" className="self-end" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function RemoveDialog({ client, onClose }: { readonly client: OAuthClient; readonly onClose: () => void }) {
  const remove = useRemoveClient();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={
        <>
          Remove “<ClaimedName name={client.name} />
          ”?
        </>
      }
      description={`Everyone who approved this app is disconnected immediately.${
        client.origin === "added" ? "" : " It can register again, and must then request access again."
      }`}
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(client.clientId, { onSuccess: onClose })}
    />
  );
}

function AddClientDialog({
  onClose,
  onAdded,
}: {
  readonly onClose: () => void;
  readonly onAdded: (client: AddedClient) => void;
}) {
  const add = useAddClient();
  const [name, setName] = useState("");
  const [redirects, setRedirects] = useState("");
  const [confidential, setConfidential] = useState(false);
  const nameError = fieldError(add.error, "name");
  const redirectError = add.error instanceof PosternClientError ? aboutRedirects(add.error) : undefined;
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() => {
        const redirectUris = redirects.split(/\s+/).filter((line) => line !== "");
        add.mutate({ name: name.trim(), redirectUris, confidential }, { onSuccess: onAdded });
      }}
      title="Add a client"
      submit="Add"
      busy={add.isPending}
      disabled={name.trim() === ""}
      error={nameError === undefined && redirectError === undefined ? add.error : null}
    >
      <TextField
        label="Name"
        required
        maxLength={100}
        placeholder="Shown when the app asks for access"
        value={name}
        error={nameError}
        onChange={(event) => setName(event.target.value)}
      />
      <TextArea
        label="Redirect URIs"
        rows={3}
        spellCheck={false}
        placeholder="https://chat.example/callback"
        hint="One per line, from the app’s documentation. Leave empty for an app on a device that shows a code."
        value={redirects}
        error={redirectError}
        onChange={(event) => setRedirects(event.target.value)}
      />
      <CheckField
        label="Can keep a secret"
        hint="An app on a server can. An app in a browser, on a desktop or on a phone cannot."
        checked={confidential}
        onChange={(event) => setConfidential(event.target.checked)}
      />
    </FormDialog>
  );
}

function aboutRedirects({ fields }: PosternClientError): string | undefined {
  return fields.find(({ path }) => path.startsWith("redirectUris"))?.message;
}
