import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { runCommand } from "./run-cli.ts";

/** A folder for PATH in which `postern` is a command of this process: a script may type many of them, and none waits for a start of Node. */
export interface TypedCommands {
  readonly binDir: string;
  close(): Promise<void>;
}

// Gives its arguments, one field each, to whoever listens.
const command = (socketPath: string): string => `#!/bin/sh
for each in "$@"; do set -- "$@" --data-urlencode "arg=$each"; shift; done
exec curl --silent --fail-with-body --unix-socket '${socketPath}' "$@" http://localhost/
`;

/** @param folder where to put it; @param gatewaySocketPath of the gateway that the commands call */
export async function startTypedCommands(folder: string, gatewaySocketPath: string): Promise<TypedCommands> {
  const binDir = join(folder, "typed");
  await mkdir(binDir);
  const socketPath = join(binDir, "commands.sock");
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const argv = new URLSearchParams(body).getAll("arg");
      void runCommand(argv, { ports: { socketPath: async () => gatewaySocketPath } }).then(
        ({ code, stdout, stderr }) => response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? stdout : stderr),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  await writeFile(join(binDir, "postern"), command(socketPath));
  await chmod(join(binDir, "postern"), 0o755);
  return {
    binDir,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
