import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { type FolderProfiles, type Proposals, replacedBy } from "../folders/index.ts";
import {
  approveProposalInputSchema,
  folderIdSchema,
  folderProfileSchema,
  profileProposalSchema,
  profileProposalsSchema,
  putFolderProfileInputSchema,
} from "../wire/folder-profiles.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

interface FolderProfileRoutesDeps {
  readonly profiles: FolderProfiles;
  readonly proposals: Proposals;
  readonly audit: Accounts["audit"];
}

const tags = ["folders"];
const params = z.strictObject({ folderId: folderIdSchema });
const config = { access: "admin" } as const;

/** `/api/folders/{folderId}/profile`: how agents start in a folder, and the profiles that its repositories propose. */
export function folderProfileRoutes(deps: FolderProfileRoutesDeps): RouteModule {
  return (server) => {
    addProfile(server, deps);
    addProposals(server, deps);
  };
}

function addProfile({ app, actorOf }: RouteServer, { profiles, audit }: FolderProfileRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/folders/:folderId/profile",
    config,
    schema: {
      operationId: "getFolderProfile",
      tags,
      summary: "Returns a folder's profile: how agents start in it. The values of its variables are never returned.",
      params,
      response: { 200: folderProfileSchema },
    },
    handler: async (request) => profiles.read(request.params),
  });

  app.route({
    method: "PUT",
    url: "/api/folders/:folderId/profile",
    config,
    schema: {
      operationId: "putFolderProfile",
      tags,
      summary: "Sets a folder's profile: how agents start in it.",
      description:
        "Replaces the profile: fields that are left out are cleared, except for the variables. Scripts run as the user of the gateway, so " +
        "they need the scope `admin`. The variables are for agents and scripts in the folder, and are stored encrypted.",
      params,
      body: putFolderProfileInputSchema,
      response: { 200: folderProfileSchema },
    },
    async handler(request) {
      const changed = await profiles.change(request.params, replacedBy(request.body));
      const noted = { action: "folder_profile_changed", subject: changed.path, details: {} } as const;
      await audit.note({ ...actorOf(request), ...noted });
      return changed;
    },
  });
}

function addProposals({ app, actorOf }: RouteServer, deps: FolderProfileRoutesDeps): void {
  const { profiles, proposals, audit } = deps;
  app.route({
    method: "GET",
    url: "/api/folders/:folderId/proposals",
    config,
    schema: {
      operationId: "listProfileProposals",
      tags,
      summary: "Lists the profiles that repositories in a folder propose.",
      description:
        "A repository proposes a profile in `.postern.json`. It is listed if the folder is the repository, or once a session was " +
        "started in the repository. It has no effect until you approve exactly this content.",
      params,
      response: { 200: profileProposalsSchema },
    },
    handler: async (request) => ({
      proposals: [...(await proposals.list((await profiles.read(request.params)).path))],
    }),
  });

  app.route({
    method: "POST",
    url: "/api/folders/:folderId/proposals/approve",
    config,
    schema: {
      operationId: "approveProfileProposal",
      tags,
      summary: "Approves the profile that a repository proposes. Changed content needs a new approval.",
      params,
      body: approveProposalInputSchema,
      response: { 200: profileProposalSchema },
    },
    async handler(request) {
      const { path } = await profiles.read(request.params);
      const approved = await proposals.approve(path, request.body);
      const details = { hash: approved.hash };
      const noted = { action: "folder_proposal_approved", subject: approved.repository, details } as const;
      await audit.note({ ...actorOf(request), ...noted });
      return approved;
    },
  });
}
