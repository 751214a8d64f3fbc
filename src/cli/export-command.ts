import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { isErrno, PosternError } from "../core/errors.ts";
import { createdShareSchema, type ExportFormat, exportFormatSchema, shareListSchema } from "../wire/sharing.ts";
import { connect } from "./context.ts";
import { absolutePath, type CommonOptions, describe, duration, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

interface ExportOptions extends CommonOptions {
  readonly format?: ExportFormat;
  readonly output?: string;
  readonly force?: true;
}

/** A whole transcript takes a while to read and mask. */
const exportTimeoutMs = 30 * 60_000;

/** `postern coding export`: the conversation as a file. */
export function addExportCommand(group: Command, context: CliContext): void {
  describe(group.command("export"), [
    "postern coding export 0b0c… > session.md",
    "postern coding export 0b0c… --format html -o session.html",
  ])
    .description("write a session's conversation as Markdown, JSON or HTML. Text that looks like a secret is masked")
    .argument("<sessionId>", sessionIdHelp)
    .option("--format <format>", "markdown (default), json or html", oneOf(exportFormatSchema))
    .option("-o, --output <file>", "write to this file instead of standard output")
    .option("--force", "overwrite the file")
    .action(async (sessionId: string, { format, output, force, json }: ExportOptions) => {
      const input = { sessionId, format: format ?? (json ? "json" : "markdown") };
      const { body } = await (await connect(context)).exportSession(input, { timeoutMs: exportTimeoutMs });
      if (body === null) throw new PosternError("internal_error", "The gateway sent no document.");
      if (output !== undefined) {
        const path = absolutePath(output, context.cwd);
        await writeTo(path, body, { overwrites: force === true });
        return context.stderr(`Wrote ${plainLine(path)}.\n`);
      }
      const decoder = new TextDecoder();
      for await (const chunk of body) {
        context.stdout(decoder.decode(chunk, { stream: true }));
        await context.stdoutTaken();
      }
    });
}

async function writeTo(
  path: string,
  body: ReadableStream<Uint8Array>,
  { overwrites }: { readonly overwrites: boolean },
): Promise<void> {
  // Only this user can read the file, because a conversation is private.
  const file = createWriteStream(path, { flags: overwrites ? "w" : "wx", mode: 0o600 });
  let isOurs = false;
  file.once("open", () => {
    isOurs = true;
  });
  try {
    await pipeline(chunksOf(body), file);
  } catch (error) {
    if (isOurs) await rm(path, { force: true });
    if (isErrno(error, "EEXIST")) {
      throw new PosternError("usage", `${path} exists. Choose another file, or add --force to overwrite it.`);
    }
    throw error;
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* body;
}

interface ShareOptions extends CommonOptions {
  readonly expires?: number;
  readonly list?: true;
  readonly revoke?: string;
}

const defaultShareMs = 7 * 86_400_000;

/** `postern coding share`: read-only links to one session. */
export function addShareCommand(group: Command, context: CliContext): void {
  describe(group.command("share"), [
    "postern coding share 0b0c… --expires 7d",
    "postern coding share 0b0c… --list",
    "postern coding share 0b0c… --revoke 5d2f…",
  ])
    .description("create a read-only link to a session's conversation. Anyone with the link can read it")
    .argument("<sessionId>", sessionIdHelp)
    .option("--expires <duration>", "when the link expires, for example 12h, 7d (default) or 30d", duration)
    .option("--list", "list your links to this session")
    .option("--revoke <shareId>", "revoke a link")
    .action(async (sessionId: string, { expires, list, revoke, json }: ShareOptions) => {
      const gateway = await connect(context);
      if (revoke !== undefined) {
        await gateway.revokeShare({ sessionId, shareId: revoke });
        return context.stdout(
          json ? `${printableJson({ revoked: revoke })}\n` : "Revoked. The link stopped working.\n",
        );
      }
      if (list) {
        const output = await gateway.listShares({ sessionId }, { output: shareListSchema });
        if (json) return context.stdout(`${printableJson(output)}\n`);
        if (output.shares.length === 0) return context.stderr("No links.\n");
        const rows = output.shares.map(({ shareId, createdAt, expiresAt, opens }) => [
          shareId,
          createdAt,
          expiresAt,
          String(opens),
        ]);
        return context.stdout(`${table(["LINK", "CREATED", "EXPIRES", "OPENED"], rows)}\n`);
      }
      const expiresIn = Math.floor((expires ?? defaultShareMs) / 1_000);
      const share = await gateway.shareSession({ sessionId, expiresIn }, { output: createdShareSchema });
      if (json) return context.stdout(`${printableJson(share)}\n`);
      context.stdout(`${plainLine(share.url)}\n`);
      return context.stderr(`Anyone with this link can read the conversation until ${share.expiresAt}.\n`);
    });
}
