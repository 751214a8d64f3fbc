import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";

/**
 * Removes the words of a session from every chat's waiting rows, of all channels: what was to be said of it is not said any more, nor changed,
 * and what a person was about to ask of it is not asked. That a message of a chat was about the session stays: a reply to it still goes there.
 * @param names every id that the session has or had
 * @returns how many waited, or still had words
 */
export function forgetSessionInChats(db: Kysely<Tables>, names: readonly string[]): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const messages = await trx
      .updateTable("chat_messages")
      .set((eb) => ({
        body: "",
        permission_id: null,
        final: 1,
        delivered: eb.ref("version"),
        state: eb
          .case()
          .when("message_id", "is", null)
          .then("failed" as const)
          .else("sent" as const)
          .end(),
      }))
      .where("session_id", "in", names)
      .where("body", "!=", "")
      .returning("ordinal")
      .execute();
    // Which session a person means is known once a tool is about to be asked: the request names it.
    const asking = await trx
      .selectFrom("chat_updates")
      .select(["channel", "update_id", "request"])
      .where("state", "=", "waiting")
      .where("request", "is not", null)
      .execute();
    const meant = asking.filter(({ request }) => names.some((name) => request?.includes(JSON.stringify(name))));
    for (const { channel, update_id } of meant) {
      await trx
        .updateTable("chat_updates")
        .set({ state: "refused", body: "", request: null })
        .where("channel", "=", channel)
        .where("update_id", "=", update_id)
        .execute();
    }
    await trx.updateTable("chat_sessions").set({ status_key: null }).where("session_id", "in", names).execute();
    return messages.length + meant.length;
  });
}
