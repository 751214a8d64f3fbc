import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import type { CliPorts } from "../../src/cli/ports.ts";
import { runCommand } from "./run-cli.ts";

/** A folder for PATH in which `postern` is a command of this process: a script may type many of them, and none waits for a start of Node. */
export interface TypedCommands {
  readonly binDir: string;
  close(): Promise<void>;
}

const ownBin = resolve(import.meta.dirname, "../../bin/postern.js");

// Sends its arguments to the test's server, one field each. Commands that run until they are ended, or need a terminal, run as a process.
const command = (socketPath: string): string => `#!/bin/sh
case "$1" in serve|mcp|events|attach) exec '${process.execPath}' '${ownBin}' "$@" ;; esac
[ -t 0 ] && exec '${process.execPath}' '${ownBin}' "$@"
for each in "$@"; do set -- "$@" --data-urlencode "arg=$each"; shift; done
exec curl --silent --fail-with-body --unix-socket '${socketPath}' --data-urlencode "cwd=$PWD" "$@" http://localhost/
`;

/** @param folder where to put the command; @param ports what the commands can use */
export async function startTypedCommands(folder: string, ports: Partial<CliPorts>): Promise<TypedCommands> {
  const binDir = join(folder, "typed");
  await mkdir(binDir);
  const socketPath = join(binDir, "commands.sock");
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const fields = new URLSearchParams(body);
      void runCommand(fields.getAll("arg"), { ports, cwd: fields.get("cwd") ?? "/" }).then(
        ({ code, stdout, stderr }) =>
          response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? stdout : stdout + stderr),
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
