/**
 * For Claude Code, which brings its own JavaScript engine: it compiles no code that only a long session would win by, and collects
 * what it no longer needs when memory is asked for, not on a timer and in further threads. A start with an answer then costs a bit
 * more than half of the processor's time. What the agent does is the same.
 *
 * Not for OpenCode, whose engine is of the same kind: with these settings 3 of 23 starts hung, without them 1 of 28 at the same time.
 */
export const agentEngine: Readonly<Record<string, string>> = {
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_useConcurrentGC: "0",
  BUN_GC_TIMER_DISABLE: "1",
};
