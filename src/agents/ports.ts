import type { AgentSetupJobKind } from "../wire/agent-setup.ts";

/** Who requested an agent's login or installation, and from where. */
export interface SetupJobOrigin {
  readonly accountId: string;
  /** For the audit log. Both fields are null for the command line. */
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** An entry of the audit log: a job was started, cancelled or ended. */
export interface SetupJobRecord extends SetupJobOrigin {
  readonly action: `agent_${AgentSetupJobKind}_${"started" | "cancelled" | "ended"}`;
  /** The agent's name. */
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes an entry. Never throws. */
export type RecordSetupJob = (note: SetupJobRecord) => Promise<void>;
