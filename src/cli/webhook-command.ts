import type { Command } from "commander";
import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import {
  addedWebhookSchema,
  addWebhookInputSchema,
  attemptResultSchema,
  type DeliveryState,
  deliverySchema,
  deliveryStateSchema,
  type EventKind,
  eventKindSchema,
  webhookSchema,
} from "../wire/events.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe, listOf, oneOf } from "./options.ts";
import { count, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly kinds?: readonly EventKind[];
}

interface DeliveriesOptions extends CommonOptions {
  readonly state?: DeliveryState;
}

/** `postern webhook …`, through the running gateway. */
export function addWebhookCommands(program: Command, context: CliContext): void {
  const group = program.command("webhook").description("send session events to a URL");
  addSetUpCommands(group, context);
  addLookCommands(group, context);
}

function addSetUpCommands(group: Command, context: CliContext): void {
  describe(group.command("add"), [
    "postern webhook add https://example.org/hooks/postern",
    "postern webhook add https://example.org/hooks/postern --kinds session.turn_ended,session.permission_asked",
  ])
    .description("add a webhook and print its secret, which is shown only once")
    .argument("<url>", "the https URL to send events to", oneOf(addWebhookInputSchema.shape.url))
    .option(
      "--kinds <list>",
      `comma-separated; default: all. ${eventKindSchema.options.join(", ")}`,
      listOf(eventKindSchema),
    )
    .action(async (url: string, { json, kinds }: AddOptions) => {
      const body = { url, ...(kinds === undefined ? {} : { kinds }) };
      const { secret, ...webhook } = await (await connect(context)).addWebhook(body, { output: addedWebhookSchema });
      if (json) return context.stdout(`${printableJson({ ...webhook, secret })}\n`);
      context.stdout(`${secret}\n`);
      return context.stderr(
        `Webhook ${webhook.webhookId}. This secret is shown only once; it verifies signatures (standardwebhooks.com).\n`,
      );
    });

  describe(group.command("remove"), ["postern webhook remove 3f0c…"])
    .description("remove a webhook and its pending deliveries")
    .argument("<webhookId>", "the ID that `postern webhook list` shows")
    .action(async (webhookId: string, options: CommonOptions) => {
      await (await connect(context)).removeWebhook({ webhookId });
      context.stdout(options.json ? `${printableJson({ removed: webhookId })}\n` : `Removed ${webhookId}.\n`);
    });

  describe(group.command("test"), ["postern webhook test 3f0c…"])
    .description("send a test request to a webhook and print the result")
    .argument("<webhookId>", "its ID")
    .action(async (webhookId: string, options: CommonOptions) => {
      const result = await (await connect(context)).testWebhook({ webhookId }, { output: attemptResultSchema });
      if (options.json) context.stdout(`${printableJson(result)}\n`);
      if (!result.ok)
        throw new PosternError("webhook_failed", result.error ?? "The receiver did not respond with 2xx.");
      if (!options.json) context.stdout(`The receiver answered ${result.status} in ${result.durationMs} ms.\n`);
    });
}

function addLookCommands(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern webhook list", "postern webhook list --json"])
    .description("list webhooks")
    .action(async (options: CommonOptions) => {
      const output = z.object({ webhooks: z.array(webhookSchema) });
      const { webhooks } = await (await connect(context)).listWebhooks({}, { output });
      if (options.json) return context.stdout(`${printableJson({ webhooks })}\n`);
      if (webhooks.length === 0) return context.stderr("No webhooks. To add one: postern webhook add\n");
      const rows = webhooks.map((webhook) => [
        webhook.webhookId,
        webhook.url,
        webhook.kinds?.join(",") ?? "all",
        String(webhook.waiting),
        String(webhook.dead),
        webhook.disabledReason ?? "-",
      ]);
      return context.stdout(`${table(["ID", "URL", "KINDS", "WAITING", "DEAD", "DISABLED"], rows)}\n`);
    });

  describe(group.command("deliveries"), [
    "postern webhook deliveries 3f0c…",
    "postern webhook deliveries 3f0c… --state dead",
  ])
    .description("list a webhook's deliveries, newest first: sent, pending or given up")
    .argument("<webhookId>", "its ID")
    .option("--state <state>", deliveryStateSchema.options.join(", "), oneOf(deliveryStateSchema))
    .action(async (webhookId: string, { json, state }: DeliveriesOptions) => {
      const output = z.object({ deliveries: z.array(deliverySchema) });
      const { deliveries } = await (await connect(context)).listDeliveries({ webhookId, state }, { output });
      if (json) return context.stdout(`${printableJson({ deliveries })}\n`);
      if (deliveries.length === 0) return context.stderr("No deliveries.\n");
      const rows = deliveries.map((delivery) => [
        delivery.eventId,
        delivery.kind,
        delivery.state,
        String(delivery.attempts),
        delivery.nextAttemptAt ?? "-",
        delivery.lastError ?? "-",
      ]);
      return context.stdout(`${table(["EVENT", "KIND", "STATE", "ATTEMPTS", "NEXT", "ERROR"], rows)}\n`);
    });

  describe(group.command("retry"), ["postern webhook retry 3f0c…"])
    .description("retry given-up deliveries; enables a disabled webhook")
    .argument("<webhookId>", "its ID")
    .action(async (webhookId: string, options: CommonOptions) => {
      const output = z.object({ retried: z.int() });
      const answer = await (await connect(context)).retryDeliveries({ webhookId }, { output });
      context.stdout(
        options.json ? `${printableJson(answer)}\n` : `Resending ${count(answer.retried, "delivery", "deliveries")}.\n`,
      );
    });
}
