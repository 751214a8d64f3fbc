import { Sparkles } from "lucide-react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { GitStatus } from "../../src/wire/publish.ts";
import { useMay } from "../api/sign-in.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { TextArea } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { canSuggest, useSuggestedMessage } from "./suggested-message.ts";
import type { FinishActions } from "./use-finish.ts";

/** The message of the next commit. The agent can suggest one, but never commits. */
export function CommitForm(props: {
  readonly summary: SessionSummary;
  readonly status: GitStatus;
  readonly finish: FinishActions;
  readonly message: string;
  /** Takes the next message, or derives it from the present one. */
  readonly onMessage: (message: string | ((now: string) => string)) => void;
}) {
  const { summary, status, finish, message, onMessage } = props;
  const mayWrite = useMay("coding:write");
  const suggestion = useSuggestedMessage(summary);
  const staged = status.files.filter((file) => file.staged !== null).length;
  if (status.files.length === 0) return null;
  const commit = (amend: boolean) => {
    finish.reset();
    finish.commit.mutate({ message, amend }, { onSuccess: () => onMessage("") });
  };
  const suggest = () => {
    finish.reset();
    suggestion.mutate(undefined, {
      // What was typed is kept.
      onSuccess: (suggested) => onMessage((now) => (now === "" ? suggested : now)),
      onSettled: () => void finish.reread(),
    });
  };
  const kept = suggestion.isSuccess && message !== "" && message !== suggestion.data;
  const disabled = staged === 0 || message.trim() === "" || status.agentWorking || finish.pending;
  return (
    <div className="mb-3 grid gap-2">
      <TextArea
        label="Commit message"
        rows={3}
        value={message}
        onChange={(event) => {
          onMessage(event.target.value);
          if (!suggestion.isPending) suggestion.reset();
        }}
        {...(kept && { hint: "Your text was kept. The agent's suggestion is in the conversation." })}
      />
      <div className="flex flex-wrap justify-end gap-2">
        {mayWrite && (
          <Button
            variant="ghost"
            icon={Sparkles}
            className="mr-auto"
            busy={suggestion.isPending}
            disabled={staged === 0 || finish.pending || !canSuggest(summary)}
            title={suggestTitle(staged, summary)}
            onClick={suggest}
          >
            Suggest a message
          </Button>
        )}
        {status.head !== null && (
          <Button disabled={disabled} onClick={() => commit(true)}>
            Amend last commit
          </Button>
        )}
        <Button variant="primary" busy={finish.commit.isPending} disabled={disabled} onClick={() => commit(false)}>
          Commit {staged > 0 && counted(staged, "file")}
        </Button>
      </div>
      <ErrorNotice error={suggestion.error} />
    </div>
  );
}

function suggestTitle(staged: number, summary: SessionSummary): string {
  if (staged === 0) return "Stage files first";
  return canSuggest(summary) ? "Asks the session's agent" : "The agent can be asked when it is idle";
}
