import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { expiryOf, type PermissionRules } from "../permissions/index.ts";
import {
  addPermissionRuleInputSchema,
  type PermissionRulesPreview,
  type PreviewPermissionRulesInput,
  permissionRuleSchema,
  permissionRulesPreviewSchema,
  permissionRulesSchema,
  previewPermissionRulesInputSchema,
} from "../wire/permission-rules.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

export interface PermissionRuleRoutesDeps {
  readonly rules: PermissionRules;
  readonly preview: (input: PreviewPermissionRulesInput, principal: Principal) => Promise<PermissionRulesPreview>;
  /** Where a rule for this session or folder applies. */
  readonly placeOf: (
    place: { readonly sessionId?: string | undefined; readonly folder?: string | undefined },
    principal: Principal,
  ) => Promise<{ readonly sessionId: string | null; readonly dir: string }>;
}

const tags = ["coding"];

/** `/api/permission-rules`: standing rules, which answer permission requests. */
export function permissionRuleRoutes(deps: PermissionRuleRoutesDeps): RouteModule {
  return (server) => {
    addList(server, deps);
    addAdd(server, deps);
    addPreview(server, deps);
    addRemove(server, deps);
  };
}

function addList({ app, principalOf }: RouteServer, { rules }: PermissionRuleRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/permission-rules",
    config: { access: "coding:read" },
    schema: {
      operationId: "listPermissionRules",
      tags,
      summary:
        "Lists the account's standing rules, oldest first. With the scope `admin`, lists the rules of all accounts.",
      response: { 200: permissionRulesSchema },
    },
    handler: async (request) => ({ rules: [...(await rules.list(principalOf(request)))] }),
  });
}

function addAdd({ app, principalOf }: RouteServer, { rules, placeOf }: PermissionRuleRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/permission-rules",
    config: { access: "coding:drive" },
    schema: {
      operationId: "addPermissionRule",
      tags,
      summary: "Adds a standing rule for a folder or a session.",
      description:
        "A rule answers matching permission requests automatically. Deny rules take precedence. A request that does not clearly match " +
        "is shown as usual. A rule ends when its creator loses the scope `coding:drive`, or when the token or app that created it is " +
        "revoked.",
      body: addPermissionRuleInputSchema,
      response: { 201: permissionRuleSchema },
    },
    async handler(request, reply) {
      const principal = principalOf(request);
      const { folder, sessionId, confirm, expiresAt, agent = null, undriven = false, ...rest } = request.body;
      if ((folder === undefined) === (sessionId === undefined)) {
        throw new PosternError("invalid_request", "A rule needs either `folder` or `sessionId`.");
      }
      const place = await placeOf({ folder, sessionId }, principal);
      const rule = { ...rest, ...place, agent, undriven, expiresAt: expiryOf(expiresAt, systemClock.now()) };
      return reply.code(201).send(await rules.add(rule, confirm === undefined ? [] : [confirm], principal));
    },
  });
}

function addPreview({ app, principalOf }: RouteServer, { preview }: PermissionRuleRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/permission-rules/preview",
    config: { access: "coding:drive" },
    schema: {
      operationId: "previewPermissionRules",
      tags,
      summary: "Describes the standing rules that an answer with `remember` would add. Nothing is stored.",
      body: previewPermissionRulesInputSchema,
      response: { 200: permissionRulesPreviewSchema },
    },
    handler: async (request) => preview(request.body, principalOf(request)),
  });
}

function addRemove({ app, principalOf }: RouteServer, { rules }: PermissionRuleRoutesDeps): void {
  app.route({
    method: "DELETE",
    url: "/api/permission-rules/:ruleId",
    config: { access: "coding:drive" },
    schema: {
      operationId: "removePermissionRule",
      tags,
      summary: "Removes a standing rule. It no longer answers requests.",
      params: z.strictObject({ ruleId: textSchema(200) }),
      response: { 204: z.undefined().describe("Removed") },
    },
    async handler(request, reply) {
      await rules.remove(request.params.ruleId, principalOf(request));
      return reply.code(204).send();
    },
  });
}
