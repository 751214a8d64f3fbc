import { request } from "node:http";
import type { Command } from "commander";
import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno, PosternError } from "../core/errors.ts";
import { type SessionEvent, type StreamReset, sessionEventSchema, streamResetSchema } from "../wire/events.ts";
import { connectionError, problemOf } from "./gateway-client.ts";
import { type CommonOptions, describe, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface EventsOptions extends CommonOptions {
  readonly session?: string;
  readonly after?: string;
  readonly count?: number;
}

/** `postern events`: follows the events of sessions, through the running gateway. */
export function addEventsCommand(program: Command, context: CliContext): void {
  describe(program.command("events"), [
    "postern events --follow",
    "postern events --follow --session 0b0c… --json",
    "postern events --count 1 --session 0b0c…",
  ])
    .description("print session events, one per line, until interrupted; resumes when the gateway restarts")
    .option("--follow", "go on until interrupted (it does so in any case)")
    .option("--session <sessionId>", "only this session and the ones that continue it")
    .option("--after <eventId>", "start after this event, if it is still stored")
    .option("--count <number>", "exit after this many events", wholeNumber(1, 1_000_000))
    .action(async ({ json, session, after, count = Infinity }: EventsOptions) => {
      const socketPath = await context.ports.socketPath();
      let printed = 0;
      let lost = false;
      await followEvents(
        { socketPath, clock: context.clock, sessionId: session ?? null, after: after ?? null },
        {
          onEvent(event) {
            lost = false;
            printed += 1;
            context.stdout(`${json ? printableJson(event, { oneLine: true }) : eventLine(event)}\n`);
            return printed < count;
          },
          onReset(reset) {
            if (json) context.stdout(`${printableJson(reset, { oneLine: true })}\n`);
            else context.stderr(`Some events are missing: ${plainLine(reset.reason)}\n`);
          },
          onLost() {
            if (!lost) context.stderr("Lost the gateway. Reconnecting…\n");
            lost = true;
          },
        },
      );
    });
}

export function eventLine(event: SessionEvent): string {
  return plainLine(`${event.at}  ${summaryOf(event)}  ${event.sessionId} · ${event.agent} · ${event.dir}`);
}

function summaryOf(event: SessionEvent): string {
  switch (event.kind) {
    case "session.created":
      return event.replaces === null ? "created" : `created, continues ${event.replaces}`;
    case "session.status":
      return event.continuedBy === null ? event.status : `${event.status}, continued by ${event.continuedBy}`;
    case "session.activity":
      return event.activity.replaceAll("_", " ");
    case "session.turn_ended":
      return "turn ended";
    case "session.permission_asked":
      return `requests ${event.tool} (${event.permission} ${event.permissionId})`;
    case "session.exited":
      return `exited, code ${event.exitCode ?? "unknown"}${event.signal === null ? "" : `, ${event.signal}`}`;
    case "session.closed":
      return "closed";
  }
}

/** What a follower reports. */
interface FollowerReports {
  /** @returns false to end */
  onEvent(event: SessionEvent): boolean;
  onReset(reset: StreamReset): void;
  /** The connection was lost; called at each failed attempt. */
  onLost(): void;
}

/** Which events to follow. */
interface FollowOptions {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly sessionId: string | null;
  /** The last event that was seen; null starts with new events. */
  readonly after: string | null;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;
// The stream sends something every 15 seconds.
const silenceMs = 60_000;
// An event has less than 10 KB.
const maxBlockBytes = 1024 * 1024;

/**
 * Follows the event stream through the gateway's Unix socket, and continues after its last event when the gateway comes back.
 * @throws PosternError `gateway_not_running` when there is none at the start, or the gateway's own code
 */
async function followEvents(options: FollowOptions, reports: FollowerReports): Promise<void> {
  const position: Position = { id: options.after, seen: false };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      position.seen = false;
      if (await readStream(options, { reports, position })) return;
    } catch (error) {
      const away = hasCode(error, "gateway_not_running") || hasCode(error, "gateway_stopping");
      if (!away || position.id === null) throw error;
    }
    if (position.seen) pauseMs = firstPauseMs;
    reports.onLost();
    await options.clock.sleep(pauseMs);
  }
}

/** Where a follower is. */
interface Position {
  id: string | null;
  /** Whether this connection sent anything. */
  seen: boolean;
}

/** @returns true when the command is done, false when the stream was interrupted */
function readStream(
  { socketPath, sessionId }: FollowOptions,
  { reports, position }: { readonly reports: FollowerReports; readonly position: Position },
): Promise<boolean> {
  const query = sessionId === null ? "" : `?sessionId=${encodeURIComponent(sessionId)}`;
  const headers = { host: "localhost", ...(position.id === null ? {} : { "last-event-id": position.id }) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: `/api/coding/events${query}`, headers, agent: false }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        text += chunk;
        if (incoming.statusCode !== 200) return;
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        try {
          const wanted = blocks.every((block) => takeBlock(block, { reports, position }));
          if (text.length > maxBlockBytes) throw new PosternError("too_large", "The gateway's response is too large.");
          if (wanted) return;
          resolve(true);
        } catch (error) {
          reject(error);
        }
        outgoing.destroy();
      });
      incoming.on("error", () => resolve(false));
      incoming.on("end", () => {
        if (incoming.statusCode === 200) resolve(false);
        else reject(problemOf({ status: incoming.statusCode ?? 0, text }));
      });
    });
    outgoing.setTimeout(silenceMs, () => outgoing.destroy());
    outgoing.on("error", (error) => {
      if (isErrno(error, "ECONNRESET")) resolve(false);
      else reject(connectionError(error, socketPath));
    });
    outgoing.end();
  });
}

function takeBlock(
  block: string,
  { reports, position }: { readonly reports: FollowerReports; readonly position: Position },
): boolean {
  const fields = new Map(
    block.split("\n").map((line): [string, string] => {
      const colon = line.indexOf(": ");
      return [line.slice(0, Math.max(colon, 0)), line.slice(colon + 2)];
    }),
  );
  position.id = fields.get("id") ?? position.id;
  position.seen = true;
  const data = fields.get("data");
  if (data === undefined) return true;
  if (fields.get("event") !== "reset") return reports.onEvent(sessionEventSchema.parse(JSON.parse(data)));
  reports.onReset(streamResetSchema.parse(JSON.parse(data)));
  return true;
}
