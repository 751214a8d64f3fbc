import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { type FolderScope, folderSchema } from "../../src/wire/access.ts";
import { branchesSchema, completedPathsSchema, sessionDirsSchema } from "../../src/wire/changes.ts";
import { callApi, sendApi } from "./client.ts";
import { queryKeys, useChange, useRead } from "./query.ts";

const foldersSchema = z.object({ folders: z.array(folderSchema) }).transform(({ folders }) => folders);

export function useFolders({ enabled = true } = {}) {
  return useRead(queryKeys.folders, "/api/folders", { answer: foldersSchema, enabled, staleTime: 15_000 });
}

/** Registers a folder, or changes its scopes. */
export function useAddFolder() {
  return useChange(queryKeys.folders, (body: { readonly path: string; readonly scopes: readonly FolderScope[] }) =>
    callApi("/api/folders", folderSchema, { body }),
  );
}

export function useRemoveFolder() {
  return useChange(queryKeys.folders, (path: string) => sendApi("/api/folders", { method: "DELETE", query: { path } }));
}

const dirsSchema = sessionDirsSchema.transform(({ dirs }) => dirs);

export function useSessionDirs() {
  return useRead(queryKeys.sessionDirs, "/api/coding/dirs", { answer: dirsSchema, retry: false, staleTime: 60_000 });
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
