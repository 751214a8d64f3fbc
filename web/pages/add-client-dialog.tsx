import { useState } from "react";
import type { AddedClient } from "../../src/wire/oauth.ts";
import { useAddClient } from "../api/access.ts";
import { ApiError, fieldError } from "../api/api-error.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField, TextArea, TextField } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

/** Asks what is to be known of an app that cannot register itself. */
export function AddClientDialog({
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
  const redirectError = add.error instanceof ApiError ? aboutRedirects(add.error) : undefined;
  return (
    <Dialog open onClose={onClose} title="Add a client">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          const redirectUris = redirects.split(/\s+/).filter((line) => line !== "");
          add.mutate({ name: name.trim(), redirectUris, confidential }, { onSuccess: onAdded });
        }}
      >
        <TextField
          label="Name"
          required
          maxLength={100}
          placeholder="As it is shown when it asks"
          value={name}
          error={nameError}
          onChange={(event) => setName(event.target.value)}
        />
        <TextArea
          label="Redirect URIs"
          rows={3}
          spellCheck={false}
          placeholder="https://chat.example/callback"
          hint="One a line, as the app’s documentation says. None for an app on a device, which shows a code instead."
          value={redirects}
          error={redirectError}
          onChange={(event) => setRedirects(event.target.value)}
        />
        <CheckField
          label="It can keep a secret"
          hint="A server’s app can. What runs in a browser, on a desktop or a phone cannot."
          checked={confidential}
          onChange={(event) => setConfidential(event.target.checked)}
        />
        {add.error !== null && nameError === undefined && redirectError === undefined && (
          <ErrorNotice error={add.error} />
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={add.isPending} disabled={name.trim() === ""}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function aboutRedirects({ fields }: ApiError): string | undefined {
  return fields.find(({ path }) => path.startsWith("redirectUris"))?.message;
}
