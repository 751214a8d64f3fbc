import type { Migration } from "kysely/migration";

/** A session's parts of terminal recordings. */
export const recordingsMigration: Migration = {
  async up(db) {
    const { schema } = db;
    await schema
      .createTable("recordings")
      .addColumn("recording_id", "text", (c) => c.primaryKey())
      .addColumn("terminal_id", "text", (c) => c.notNull())
      .addColumn("session_id", "text", (c) => c.notNull().references("sessions.session_id").onDelete("cascade"))
      .addColumn("started_at", "bigint", (c) => c.notNull())
      .addColumn("ended_at", "bigint")
      .execute();
    await schema.createIndex("recordings_by_session").on("recordings").columns(["session_id", "started_at"]).execute();
    await schema.createIndex("recordings_by_terminal").on("recordings").column("terminal_id").execute();
    // Live terminals during the upgrade, each showing one session.
    await db
      .insertInto("recordings")
      .columns(["recording_id", "terminal_id", "session_id", "started_at"])
      .expression((from) =>
        from
          .selectFrom("sessions")
          .where("terminal_id", "is not", null)
          .select(["terminal_id as recording_id", "terminal_id", "session_id", "created_at"]),
      )
      .execute();
  },
};
