import type { TestGateway } from "./gateway.ts";

/** Uploads files, with a token of the owner. */
export async function uploader({ app, url }: TestGateway) {
  const { accountId } = await app.accounts.owner();
  const scopes = ["coding:read", "coding:write", "coding:drive"] as const;
  const { token } = await app.accounts.tokens.create(accountId, { name: "u", scopes, folders: null, expiresAt: null });
  const authorization = `Bearer ${token}`;
  const at = (attachmentId: string): string => `${url}/api/coding/attachments/${attachmentId}`;
  return {
    token,
    async upload(name: string, bytes: Buffer): Promise<{ status: number; body: Record<string, unknown> }> {
      const response = await fetch(`${url}/api/coding/attachments`, {
        method: "POST",
        headers: { authorization, "x-file-name": encodeURIComponent(name) },
        body: Buffer.from(bytes),
      });
      return { status: response.status, body: Object(await response.json()) };
    },
    download: (attachmentId: string) => fetch(at(attachmentId), { headers: { authorization } }),
    remove: (attachmentId: string) => fetch(at(attachmentId), { method: "DELETE", headers: { authorization } }),
    forget: (sessionId: string) =>
      fetch(`${url}/api/coding/sessions/${sessionId}/traces`, { method: "DELETE", headers: { authorization } }),
  };
}
