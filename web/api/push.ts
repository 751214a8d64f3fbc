import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  type PushPreferences,
  pushPreferencesSchema,
  pushSubscriptionsSchema,
  pushTestOutputSchema,
} from "../../src/wire/push.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useAct, useRead, useRemove } from "./query.ts";

export function usePushSubscriptions() {
  return useRead(queryKeys.pushSubscriptions, (call) =>
    reading.listPushSubscriptions({}, { ...call, output: pushSubscriptionsSchema }),
  );
}

export function useRemovePushSubscription() {
  return useRemove((subscriptionId) => acting.removePushSubscription({ subscriptionId }), queryKeys.pushSubscriptions);
}

export function useTestPushSubscription() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (subscriptionId: string) =>
      acting.testPushSubscription({ subscriptionId }, { output: pushTestOutputSchema }),
    onSettled: () => void client.invalidateQueries({ queryKey: queryKeys.pushSubscriptions }),
  });
}

export function usePushPreferences() {
  return useRead(queryKeys.pushPreferences, (call) =>
    reading.getPushPreferences({}, { ...call, output: pushPreferencesSchema }),
  );
}

/** Changes are shown immediately and sent in order, so that none is lost. */
export function useChangePushPreferences() {
  const client = useQueryClient();
  const { queryKey, key } = { queryKey: queryKeys.pushPreferences, key: ["push-preferences"] };
  const { mutate, error } = useMutation({
    mutationKey: key,
    scope: { id: "push-preferences" },
    mutationFn: (next: PushPreferences) => acting.setPushPreferences(next, { output: pushPreferencesSchema }),
    onSettled: () => {
      // Not while a later change is pending: the older state would overwrite that change.
      if (client.isMutating({ mutationKey: key }) === 1) void client.invalidateQueries({ queryKey });
    },
  });
  const change = (changes: Partial<PushPreferences>): void => {
    const known = client.getQueryData<PushPreferences>(queryKey);
    if (known === undefined) return;
    const next = { ...known, ...changes };
    void client.cancelQueries({ queryKey });
    client.setQueryData(queryKey, next);
    mutate(next);
  };
  return { change, error };
}
