import type { TestGateway } from "./gateway.ts";

/** Uploads files with the token of `api`. */
export function uploader({ url, token }: Pick<TestGateway, "url" | "token">) {
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
