import type { Command } from "commander";
import { type SessionEvent, sessionEventSchema } from "../wire/events.ts";
import { idleEndWords } from "../wire/idle-words.ts";
import { connect } from "./context.ts";
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
    .option("--follow", "run until interrupted (the default)")
    .option("--session <sessionId>", "only this session and sessions that continue it")
    .option("--after <eventId>", "start after this event, if it is still stored")
    .option("--count <number>", "exit after this many events", wholeNumber(1, 1_000_000))
    .action(async ({ json, session, after, count = Infinity }: EventsOptions) => {
      const gateway = await connect(context);
      let [printed, lost, position] = [0, false, after ?? null];
      const events = gateway.events({
        sessionId: session,
        after,
        onState(state, reason) {
          if (state === "live") position ??= "";
          if (state !== "offline") return;
          // Without a position, events since the command's start would be missing, because no gateway was running then.
          if (position === null) throw reason;
          if (!lost) context.stderr("Lost the connection to the gateway. Reconnecting…\n");
          lost = true;
        },
      });
      for await (const event of events) {
        lost = false;
        if (event.kind === "reset") {
          if (json) context.stdout(`${printableJson(event, { oneLine: true })}\n`);
          else context.stderr(`Some events are missing: ${plainLine(event.reason)}\n`);
          continue;
        }
        const parsed = sessionEventSchema.safeParse(event);
        if (!parsed.success) continue; // an event kind of a newer gateway
        context.stdout(`${json ? printableJson(parsed.data, { oneLine: true }) : eventLine(parsed.data)}\n`);
        printed += 1;
        if (printed >= count) return;
      }
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
    case "session.queue_changed":
      return event.queuedPrompts === 1 ? "1 prompt waits" : `${event.queuedPrompts} prompts wait`;
    case "session.exited":
      if (event.endedAfterIdleMs !== null) return idleEndWords(event.endedAfterIdleMs);
      return `exited, code ${event.exitCode ?? "unknown"}${event.signal === null ? "" : `, ${event.signal}`}`;
    case "session.closed":
      return "closed";
    case "session.edited":
      return `edited${event.pinned ? ", pinned" : ""}${event.archived ? ", archived" : ""}`;
  }
}
