const signals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const;

/**
 * Calls `restore`, once or more often, when this process ends in any way that it can notice: a signal (which then ends it as it would
 * have), an error that nobody caught, an exit. Returns the function that stops this.
 */
export function onEveryWayOut(restore: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    restore();
    stop();
    process.kill(process.pid, signal);
  };
  function stop(): void {
    process.off("exit", restore);
    process.off("uncaughtExceptionMonitor", restore);
    for (const signal of signals) process.off(signal, onSignal);
  }
  process.on("exit", restore);
  process.on("uncaughtExceptionMonitor", restore);
  for (const signal of signals) process.on(signal, onSignal);
  return stop;
}
