import { type UseMutationOptions, type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useCallback, useRef } from "react";

/** What a person does on a page, by a request. While one is under way a second press does nothing: a double-click acts once. */
export function useAct<Answer, Given = void>(
  options: UseMutationOptions<Answer, Error, Given>,
): UseMutationResult<Answer, Error, Given> {
  const running = useRef(false);
  const { mutationFn } = options;
  const act = useMutation<Answer, Error, Given>({
    ...options,
    ...(mutationFn === undefined
      ? {}
      : {
          mutationFn: async (given, context) => {
            try {
              return await mutationFn(given, context);
            } finally {
              running.current = false;
            }
          },
        }),
  });
  const { mutate: begin } = act;
  const mutate: typeof begin = useCallback(
    (...given) => {
      if (running.current) return;
      running.current = true;
      begin(...given);
    },
    [begin],
  );
  return { ...act, mutate };
}
