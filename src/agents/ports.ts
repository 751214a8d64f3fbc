import type { AgentSetupJobKind } from "../wire/agent-setup.ts";

/** Who asks for an agent's log-in or installation, and from where. */
export interface SetupJobOrigin {
  readonly accountId: string;
  /** As the audit has it: null twice is the command line. */
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** One line of the audit: somebody began or cancelled one, or it ended by itself. */
export interface SetupJobRecord extends SetupJobOrigin {
  readonly action: `agent_${AgentSetupJobKind}_${"started" | "cancelled" | "ended"}`;
  /** The agent's name. */
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes it down. Never throws. */
export type RecordSetupJob = (note: SetupJobRecord) => Promise<void>;
