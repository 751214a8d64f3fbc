import type { Command } from "commander";
import type { SessionEvent } from "../wire/events.ts";
import { followEvents } from "./event-follower.ts";
import { type CommonOptions, describe, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface EventsOptions extends CommonOptions {
  readonly session?: string;
  readonly after?: string;
  readonly count?: number;
}

/** `postern events`: what happens to sessions, as it happens, through the running gateway. */
export function addEventsCommand(program: Command, context: CliContext): void {
  describe(program.command("events"), [
    "postern events --follow",
    "postern events --follow --session 0b0c… --json",
    "postern events --count 1 --session 0b0c…",
  ])
    .description(
      "print what happens to sessions, one line each, until interrupted; goes on where it was when the gateway restarts",
    )
    .option("--follow", "go on until interrupted (it does so in any case)")
    .option("--session <sessionId>", "only this session, and those that go on from it")
    .option("--after <eventId>", "begin after this event, where it is still kept")
    .option("--count <number>", "end after so many events", wholeNumber(1, 1_000_000))
    .action(async ({ json, session, after, count = Infinity }: EventsOptions) => {
      const socketPath = await context.ports.socketPath();
      let told = 0;
      let lost = false;
      await followEvents(
        { socketPath, clock: context.clock, sessionId: session ?? null, after: after ?? null },
        {
          onEvent(event) {
            lost = false;
            told += 1;
            context.stdout(`${json ? printableJson(event, { oneLine: true }) : eventLine(event)}\n`);
            return told < count;
          },
          onReset(reset) {
            if (json) context.stdout(`${printableJson(reset, { oneLine: true })}\n`);
            else context.stderr(`Events are missing here: ${plainLine(reset.reason)}\n`);
          },
          onLost() {
            if (!lost) context.stderr("The gateway went away; waiting for it.\n");
            lost = true;
          },
        },
      );
    });
}

/** An event for a person. */
export function eventLine(event: SessionEvent): string {
  return plainLine(`${event.at}  ${wordsOf(event)}  ${event.sessionId} · ${event.agent} · ${event.dir}`);
}

function wordsOf(event: SessionEvent): string {
  switch (event.kind) {
    case "session.created":
      return event.replaces === null ? "created" : `created, goes on from ${event.replaces}`;
    case "session.status":
      return event.continuedBy === null ? event.status : `${event.status}, goes on as ${event.continuedBy}`;
    case "session.activity":
      return event.activity.replaceAll("_", " ");
    case "session.turn_ended":
      return "turn ended";
    case "session.permission_asked":
      return `asks for ${event.tool} (${event.permission} ${event.permissionId})`;
    case "session.exited":
      return `exited, code ${event.exitCode ?? "unknown"}${event.signal === null ? "" : `, ${event.signal}`}`;
    case "session.closed":
      return "closed";
  }
}
