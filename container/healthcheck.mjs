// Exits with 0 when the gateway of this container responds.
const timeoutMs = 5_000;

const url = `http://127.0.0.1:${process.env.POSTERN_PORT || "7177"}/healthz`;
const { ok } = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
process.exitCode = ok ? 0 : 1;
