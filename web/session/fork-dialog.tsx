import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { forkSessionOutputSchema } from "../../src/wire/forks.ts";
import { useAgents } from "../api/agents.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { CheckField, SelectField, TextArea } from "../ui/field.tsx";
import { agentName, sessionTitle } from "../ui/session-state.ts";

/** Starts a session that knows this one's conversation, with the same agent or another one, and opens its page. */
export function ForkDialog(props: {
  readonly summary: SessionSummary;
  /** The last turn that the new session knows; null for the last turn of this session. */
  readonly turn: number | null;
  readonly onClose: () => void;
}) {
  const { summary, turn, onClose } = props;
  const { sessionId, agent: own, branch } = summary;
  const { data } = useAgents();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [agent, setAgent] = useState(own);
  const [prompt, setPrompt] = useState("");
  // Sessions cannot share a worktree.
  const hasWorktree = summary.worktree !== null;
  const [apart, setApart] = useState(hasWorktree);
  const fork = useAct({
    mutationFn: () =>
      acting.forkSession(
        {
          sessionId,
          agent,
          ...(turn !== null && { turn }),
          ...(prompt.trim() !== "" && { prompt }),
          ...((apart || hasWorktree) && { worktree: apart }),
        },
        { output: forkSessionOutputSchema },
      ),
    onSuccess: (started) => {
      void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
      onClose();
      void navigate(`/sessions/${encodeURIComponent(started.sessionId)}`);
    },
  });
  const names = new Set([own, ...(data?.agents ?? []).map(({ name }) => name)]);
  const part = turn === null ? "the conversation" : "the conversation up to this answer";
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() => fork.mutate()}
      title="Fork session"
      description={`The new session gets ${part} of “${sessionTitle(summary)}” as an attached file. Text that looks like a secret is masked. This session does not change.`}
      submit="Fork"
      busy={fork.isPending}
      disabled={false}
      error={fork.error}
      holds={prompt.trim() !== "" || fork.isPending}
    >
      <SelectField label="Continue with" value={agent} onChange={({ target }) => setAgent(target.value)}>
        {[...names].map((name) => (
          <option key={name} value={name}>
            {agentName(name)}
          </option>
        ))}
      </SelectField>
      <TextArea
        label="Prompt"
        hint="If empty, the agent summarizes where the work stands."
        value={prompt}
        onChange={({ target }) => setPrompt(target.value)}
      />
      {branch !== null && (
        <CheckField
          label="Use a separate worktree"
          hint={`It starts from ${branch}. Changes of this session are attached as a patch.`}
          checked={apart}
          onChange={({ target }) => setApart(target.checked)}
        />
      )}
    </FormDialog>
  );
}
