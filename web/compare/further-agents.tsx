import { Plus, X } from "lucide-react";
import { useState } from "react";
import type { Branches } from "../../src/wire/changes.ts";
import type { ListAgentsOutput } from "../../src/wire/coding.ts";
import { comparedSchema, maxContenders } from "../../src/wire/comparisons.ts";
import { acting } from "../api/client.ts";
import { useAct } from "../api/query.ts";
import type { NewSession } from "../pages/start-session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { agentName } from "../ui/session-state.ts";

interface Contender {
  /** Identifies the row. */
  readonly key: number;
  readonly agent: string;
  readonly model: string;
}

export type Comparing = ReturnType<typeof useComparing>;

/** Further agents for the same prompt, and the request that starts them all. */
export function useComparing() {
  const [further, setFurther] = useState<readonly Contender[]>([]);
  const start = useAct({
    mutationFn: async ({
      form,
      idempotencyKey,
      attachments,
    }: {
      readonly form: NewSession;
      readonly idempotencyKey: string;
      readonly attachments: readonly string[];
    }) => {
      const { dir, prompt, permissionMode, baseBranch } = form;
      const contenders = [form, ...further].map(({ agent, model }) => ({
        agent,
        ...(model.trim() !== "" && { model: model.trim() }),
      }));
      const files = attachments.length === 0 ? {} : { attachments: [...attachments] };
      const base = baseBranch === "" ? {} : { baseBranch };
      // Other agents make it another request.
      const key = [idempotencyKey, ...contenders.map(({ agent, model = "" }) => `${agent}:${model}`)].join(" ");
      return acting.startComparison(
        {
          ...{ dir: dir.trim(), prompt, permissionMode, contenders, ...files, ...base },
          idempotencyKey: key.slice(0, 200),
        },
        { output: comparedSchema },
      );
    },
  });
  return {
    further,
    start,
    isOn: further.length > 0,
    change(next: readonly Contender[]): void {
      setFurther(next);
      if (start.isError) start.reset();
    },
  };
}

/** The second, third… agent of a comparison. */
export function FurtherAgents(props: {
  readonly comparing: Comparing;
  readonly form: NewSession;
  readonly agents: ListAgentsOutput["agents"] | undefined;
  readonly branches: Branches | undefined;
  readonly onBase: (baseBranch: string) => void;
}) {
  const { comparing, form, agents = [], branches, onBase } = props;
  const { further, change, isOn } = comparing;
  const isRepository = branches?.repository != null;
  if (agents.length === 0 || (!isOn && !isRepository)) return null;
  const nextAgent = agents.find(
    ({ name }) => name !== form.agent && further.every(({ agent }) => agent !== name),
  )?.name;
  const add = (): void =>
    change([
      ...further,
      { key: Math.max(0, ...further.map(({ key }) => key)) + 1, agent: nextAgent ?? form.agent, model: "" },
    ]);
  return (
    <div className="flex flex-col gap-3">
      {further.map((contender, index) => {
        const set = (changes: Partial<Contender>): void =>
          change(further.map((one) => (one.key === contender.key ? { ...one, ...changes } : one)));
        return (
          <div key={contender.key} className="flex items-end gap-3">
            <SelectField
              label={`Agent ${index + 2}`}
              className="min-w-0 flex-1"
              value={contender.agent}
              onChange={({ target }) => set({ agent: target.value, model: "" })}
            >
              {agents.map(({ name }) => (
                <option key={name} value={name}>
                  {agentName(name)}
                </option>
              ))}
            </SelectField>
            <TextField
              label={`Model of agent ${index + 2}`}
              className="min-w-0 flex-1"
              placeholder="Default model"
              value={contender.model}
              onChange={({ target }) => set({ model: target.value })}
            />
            <IconButton
              label={`Remove agent ${index + 2}`}
              icon={X}
              onClick={() => change(further.filter(({ key }) => key !== contender.key))}
            />
          </div>
        );
      })}
      <div className="flex flex-wrap items-center gap-3">
        <Button size="sm" icon={Plus} disabled={further.length + 1 >= maxContenders} onClick={add}>
          {isOn ? "Add agent" : "Compare agents"}
        </Button>
        {isOn && (
          <span className="text-xs text-ink-faint">
            Every agent gets this prompt and works in its own worktree from the same commit.
          </span>
        )}
      </div>
      {isOn && (
        <SelectField label="Based on" value={form.baseBranch} onChange={({ target }) => onBase(target.value)}>
          {branches?.branches.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      )}
    </div>
  );
}
