import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { type Folder, type FolderScope, folderSchema } from "../../src/wire/access.ts";
import { branchesSchema, completedPathsSchema, sessionDirsSchema } from "../../src/wire/changes.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useChange, useRead } from "./query.ts";

const foldersSchema = z.object({ folders: z.array(folderSchema) }).transform(({ folders }) => folders);

export function useFolders({ enabled = true } = {}) {
  return useRead(queryKeys.folders, (call) => reading.listFolders({}, { ...call, output: foldersSchema }), {
    enabled,
    staleTime: 15_000,
  });
}

/** Registers a folder, or changes its settings. */
export function useAddFolder() {
  return useChange(
    queryKeys.folders,
    (
      folder: Readonly<Omit<Folder, "createdAt" | "scopes" | "folderId">> & { readonly scopes: readonly FolderScope[] },
    ) => acting.addFolder(folder, { output: folderSchema }),
  );
}

export function useRemoveFolder() {
  return useChange(queryKeys.folders, (path: string) => acting.removeFolder({ path }));
}

const dirsSchema = sessionDirsSchema.transform(({ dirs }) => dirs);

export function useSessionDirs() {
  return useRead(queryKeys.sessionDirs, (call) => reading.listDirs({}, { ...call, output: dirsSchema }), {
    retry: false,
    staleTime: 60_000,
  });
}

export function usePathCompletion(path: string) {
  return useQuery({
    queryKey: queryKeys.completion(path),
    enabled: path.startsWith("/"),
    queryFn: ({ signal }) => reading.completePath({ path }, { signal, output: completedPathsSchema }),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
}

export function useBranches(dir: string) {
  return useQuery({
    queryKey: queryKeys.branches(dir),
    enabled: dir.startsWith("/"),
    queryFn: ({ signal }) => reading.listBranches({ dir }, { signal, output: branchesSchema }),
    retry: false,
    staleTime: 10_000,
  });
}
