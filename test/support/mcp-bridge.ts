import { Client, type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { type CliRun, runCommand } from "./run-cli.ts";

/** `postern mcp`, run in this process, and its client. */
export interface BridgedClient {
  readonly client: Client;
  /** Every line of its standard output. */
  readonly lines: readonly string[];
  /** Ends its standard input. */
  end(): Promise<CliRun>;
}

/** Connects a client of a family of the specification through the command; it ends with the test. */
export async function connectThroughBridge(
  era: "2025" | "2026",
  way: { readonly socketPath: string; readonly token: string },
): Promise<BridgedClient> {
  const lines: string[] = [];
  const input = createInput();
  const transport: Transport = {
    start: async () => undefined,
    send: async (message: JSONRPCMessage) => input.push(`${JSON.stringify(message)}\n`),
    close: async () => input.end(),
  };
  const running = runCommand(["mcp"], {
    ports: { token: async () => way.token, socketPath: async () => way.socketPath },
    stdin: input.chunks(),
    stdout: (text) => {
      for (const line of text.split("\n").filter((each) => each !== "")) {
        lines.push(line);
        transport.onmessage?.(parseJSONRPCMessage(JSON.parse(line)));
      }
    },
  });
  void running.then(() => transport.onclose?.());
  onTestFinished(async () => {
    input.end();
    await running;
  });
  const mode = era === "2025" ? "legacy" : "auto";
  const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    client,
    lines,
    end: () => {
      input.end();
      return running;
    },
  };
}

function createInput() {
  const waiting: Uint8Array[] = [];
  let ended = false;
  let wake = (): void => undefined;
  return {
    push(text: string): void {
      // In pieces, as pipes are wont to.
      const bytes = Buffer.from(text);
      waiting.push(bytes.subarray(0, 7), bytes.subarray(7));
      wake();
    },
    end(): void {
      ended = true;
      wake();
    },
    async *chunks(): AsyncGenerator<Uint8Array, void> {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (ended) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
