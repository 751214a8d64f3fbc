import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { type FolderScope, folderSchema } from "../../src/wire/access.ts";
import { branchesSchema, completedPathsSchema, sessionDirsSchema } from "../../src/wire/changes.ts";
import { callApi, sendApi } from "./client.ts";
import { queryKeys, useAct } from "./query.ts";

const foldersSchema = z.object({ folders: z.array(folderSchema) });

export function useFolders({ enabled = true } = {}) {
  return useQuery({
    queryKey: queryKeys.folders,
    enabled,
    queryFn: async ({ signal }) => (await callApi("/api/folders", foldersSchema, { signal })).folders,
    staleTime: 15_000,
  });
}

/** Registers a folder, or changes its scopes. */
export function useAddFolder() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (body: { readonly path: string; readonly scopes: readonly FolderScope[] }) =>
      callApi("/api/folders", folderSchema, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.folders }),
  });
}

export function useRemoveFolder() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (path: string) => sendApi("/api/folders", { method: "DELETE", query: { path } }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.folders }),
  });
}

export function useSessionDirs() {
  return useQuery({
    queryKey: queryKeys.sessionDirs,
    queryFn: async ({ signal }) => (await callApi("/api/coding/dirs", sessionDirsSchema, { signal })).dirs,
    retry: false,
    staleTime: 60_000,
  });
}

export function usePathCompletion(path: string) {
  return useQuery({
    queryKey: queryKeys.completion(path),
    enabled: path.startsWith("/"),
    queryFn: ({ signal }) => callApi("/api/folders/complete", completedPathsSchema, { query: { path }, signal }),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
}

export function useBranches(dir: string) {
  return useQuery({
    queryKey: queryKeys.branches(dir),
    enabled: dir.startsWith("/"),
    queryFn: ({ signal }) => callApi("/api/coding/branches", branchesSchema, { query: { dir }, signal }),
    retry: false,
    staleTime: 10_000,
  });
}
