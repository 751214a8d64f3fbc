import { useState } from "react";
import { appScopes, type Scope } from "../../src/wire/access.ts";
import { type AddedAccount, addAccountInputSchema } from "../../src/wire/accounts.ts";
import { useAddAccount } from "../api/access.ts";
import { ApiError, fieldError, messageOf } from "../api/api-error.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { ScopeChoice } from "./scope-list.tsx";

/** Asks who shall be able to sign in, and what they may do then. */
export function AddAccountDialog({
  onClose,
  onAdded,
}: {
  readonly onClose: () => void;
  readonly onAdded: (account: AddedAccount) => void;
}) {
  const add = useAddAccount();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["coding:read"]);
  const taken = add.error instanceof ApiError && add.error.code === "account_exists";
  const nameError = taken ? messageOf(add.error) : fieldError(add.error, "name");
  const input = addAccountInputSchema.safeParse({ name: name.trim(), scopes });
  return (
    <Dialog open onClose={onClose} title="Add an account">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (input.success) add.mutate(input.data, { onSuccess: onAdded });
        }}
      >
        <TextField
          label="Name"
          required
          maxLength={100}
          placeholder="Who is it?"
          value={name}
          error={nameError}
          onChange={(event) => setName(event.target.value)}
        />
        <ScopeChoice legend="What they may do" offered={appScopes} chosen={scopes} onChange={setScopes} />
        {scopes.includes("coding:drive") && (
          <Notice tone="lamp">With coding:drive, they can run any command on this machine as you.</Notice>
        )}
        {add.error !== null && nameError === undefined && <ErrorNotice error={add.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={add.isPending} disabled={!input.success}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
