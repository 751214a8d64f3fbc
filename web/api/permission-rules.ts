import { keepPreviousData, useQuery } from "@tanstack/react-query";
import {
  type PreviewPermissionRulesInput,
  permissionRulesPreviewSchema,
  permissionRulesSchema,
} from "../../src/wire/permission-rules.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useRead, useRemove } from "./query.ts";

export function usePermissionRules() {
  return useRead(queryKeys.permissionRules, (call) =>
    reading.listPermissionRules({}, { ...call, output: permissionRulesSchema }),
  );
}

export function useRemovePermissionRule() {
  return useRemove((ruleId) => acting.removePermissionRule({ ruleId }), queryKeys.permissionRules);
}

/** The rules that an answer would add, described by the gateway. The previous description stays while a new one loads. */
export function usePermissionRulesPreview(input: PreviewPermissionRulesInput) {
  return useQuery({
    // Not below the key `permissionRules`: an answer invalidates that key, but then there is no request left to preview.
    queryKey: ["permission-rules-preview", input],
    queryFn: ({ signal }) => reading.previewPermissionRules(input, { signal, output: permissionRulesPreviewSchema }),
    placeholderData: keepPreviousData,
    // The user agrees to this description.
    staleTime: 0,
    gcTime: 0,
  });
}
