import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { editSessionOutputSchema, type SessionEdits } from "../../src/wire/session-notes.ts";
import { messageOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { queryKeys } from "../api/query.ts";
import { sessionTitle } from "../ui/session-state.ts";
import { showToast } from "./toasts.tsx";

/** Changes that a person makes to a session in a list. Failures are shown at the bottom of the page. */
export interface SessionDeeds {
  rename(session: SessionSummary, title: string): Promise<void>;
  pin(session: SessionSummary, pinned: boolean): Promise<void>;
  /** Can be undone for a while. */
  archive(session: SessionSummary, archived: boolean): Promise<void>;
  addLabel(session: SessionSummary, label: string): Promise<void>;
  removeLabel(session: SessionSummary, label: string): Promise<void>;
}

export function useSessionDeeds(): SessionDeeds {
  const client = useQueryClient();
  return useMemo(() => createDeeds(client), [client]);
}

function createDeeds(client: QueryClient): SessionDeeds {
  /** @returns whether it succeeded */
  async function edit(session: SessionSummary, edits: SessionEdits, what: string): Promise<boolean> {
    try {
      await acting.editSession({ sessionId: session.sessionId, ...edits }, { output: editSessionOutputSchema });
      return true;
    } catch (error) {
      showToast({ tone: "danger", text: `Cannot ${what} “${sessionTitle(session)}”: ${messageOf(error)}` });
      return false;
    } finally {
      refreshSessions(client, [session.sessionId]);
    }
  }

  const deeds: SessionDeeds = {
    async rename(session, title) {
      await edit(session, { title: title.trim() === "" ? null : title.trim() }, "rename");
    },
    async pin(session, pinned) {
      await edit(session, { pinned }, pinned ? "pin" : "unpin");
    },
    async archive(session, archived) {
      if (!(await edit(session, { archived }, archived ? "archive" : "restore"))) return;
      showToast({
        tone: "info",
        text: `${archived ? "Archived" : "Restored"} “${sessionTitle(session)}”`,
        undo: () => void edit(session, { archived: !archived }, archived ? "restore" : "archive"),
      });
    },
    async addLabel(session, label) {
      await edit(session, { addLabels: [label] }, "label");
    },
    async removeLabel(session, label) {
      await edit(session, { removeLabels: [label] }, "remove a label from");
    },
  };
  return deeds;
}

export function refreshSessions(client: QueryClient, sessionIds: readonly string[]): void {
  void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
  void client.invalidateQueries({ queryKey: queryKeys.labels });
  for (const sessionId of sessionIds) void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
}
