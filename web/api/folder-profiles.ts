import { useQuery } from "@tanstack/react-query";
import { type Clone, type CloneInput, cloneSchema } from "../../src/wire/clones.ts";
import {
  folderProfileSchema,
  type PutFolderProfileInput,
  profileProposalSchema,
  profileProposalsSchema,
} from "../../src/wire/folder-profiles.ts";
import { scriptRunsSchema } from "../../src/wire/folder-scripts.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useAct, useChange, useRead } from "./query.ts";

/** Begins with `folders`, so that profiles are invalidated together with the folders. */
const profileKey = (folderId: string) => [...queryKeys.folders, folderId, "profile"] as const;
const proposalsKey = (folderId: string) => [...queryKeys.folders, folderId, "proposals"] as const;

export function useFolderProfile(folderId: string | null) {
  return useRead(
    profileKey(folderId ?? ""),
    (call) => reading.getFolderProfile({ folderId: folderId ?? "" }, { ...call, output: folderProfileSchema }),
    { enabled: folderId !== null },
  );
}

/** Values of variables do not stay in the cache. */
export function useSaveProfile(folderId: string) {
  return useChange(
    profileKey(folderId),
    (input: PutFolderProfileInput) => acting.putFolderProfile({ folderId, ...input }, { output: folderProfileSchema }),
    { gcTime: 0 },
  );
}

const proposalsSchema = profileProposalsSchema.transform(({ proposals }) => proposals);

export function useProposals(folderId: string) {
  return useRead(proposalsKey(folderId), (call) =>
    reading.listProfileProposals({ folderId }, { ...call, output: proposalsSchema }),
  );
}

export function useApproveProposal(folderId: string) {
  return useChange(proposalsKey(folderId), (approval: { readonly repository: string; readonly hash: string }) =>
    acting.approveProfileProposal({ folderId, ...approval }, { output: profileProposalSchema }),
  );
}

const pollMs = 700;

export function useBeginClone() {
  return useAct({ mutationFn: (input: CloneInput) => acting.beginClone(input, { output: cloneSchema }) });
}

/** The state of a clone, polled until it has ended. */
export function useClone(cloneId: string | null) {
  return useQuery({
    queryKey: ["clone", cloneId],
    enabled: cloneId !== null,
    queryFn: ({ signal }) => reading.getClone({ cloneId: cloneId ?? "" }, { signal, output: cloneSchema }),
    refetchInterval: ({ state }) => (isRunning(state.data) ? pollMs : false),
  });
}

export function isRunning(clone: Clone | undefined): boolean {
  return clone === undefined || clone.state === "running";
}

export function useCancelClone() {
  return useAct({ mutationFn: (cloneId: string) => acting.cancelClone({ cloneId }, { output: cloneSchema }) });
}

/** Runs of setup and teardown scripts, latest first; polled. */
export function useScripts() {
  return useQuery({
    queryKey: ["scripts"],
    queryFn: async ({ signal }) => (await reading.listScripts({}, { signal, output: scriptRunsSchema })).scripts,
    refetchInterval: pollMs,
  });
}
