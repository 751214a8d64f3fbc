import { sql } from "kysely";
import type { CatalogReader } from "./session-rows.ts";

/** A directory, and how much was done there. */
export interface DirRow {
  readonly dir: string;
  readonly sessions: number;
  /** Epoch milliseconds. */
  readonly lastUsedAt: number;
}

/** Every directory of a session, with its sessions counted. */
export async function dirRows({ db }: CatalogReader): Promise<readonly DirRow[]> {
  const { rows } = await sql<{ dir: string; sessions: number; last: number }>`
    select dir, count(*) as sessions, max(updated_at) as last from (
      select coalesce(s.dir, t.dir) as dir, t.updated_at from transcripts t
        left join sessions s on s.session_id = t.session_id and s.agent = t.agent where t.listed = 1
      union all
      select s.dir, s.updated_at from sessions s where not exists (
        select 1 from transcripts t where t.session_id = s.session_id and t.agent = s.agent and t.listed = 1)
    ) as placed where dir is not null group by dir`.execute(db);
  return rows.map(({ dir, sessions, last }) => ({ dir, sessions, lastUsedAt: last }));
}
