/** A row as it is written into a store of some version. */
type FixtureRow = readonly [table: string, columns: Readonly<Record<string, string | number | null>>];

const at = 1_767_225_600_000;
const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const hash = (digit: string): string => digit.repeat(64);

/** Rows for the tables that a migration brought, parents first, as the version of then wrote them. */
export const storeRows: Readonly<Record<string, readonly FixtureRow[]>> = {
  "0001-first": [
    ["accounts", { account_id: id(1), name: "owner", is_owner: 1, created_at: at }],
    [
      "personal_tokens",
      {
        ...{ token_id: id(2), account_id: id(1), name: "laptop", token_hash: hash("a"), scopes: '["coding:read"]' },
        ...{ folders: '["/code/a"]', created_at: at, expires_at: at + 1, last_used_at: null, revoked_at: null },
      },
    ],
    ["folders", { path: "/code/a's", scopes: '["files","coding"]', created_at: at }],
    ["configured_agents", { name: "claude-code", binary: null, is_default: 1, configured_at: at }],
    [
      "sessions",
      {
        ...{
          session_id: id(3),
          node_id: id(9),
          agent: "claude-code",
          dir: "/code/a's",
          title: "naïve 🦉\nsecond line",
        },
        ...{
          model: null,
          permission_mode: "ask",
          transcript_path: "/code/t.jsonl",
          launch_id: id(4),
          terminal_id: id(5),
        },
        ...{ created_at: at, updated_at: at + 5, closed_at: null, exit_code: null, signal: null, last_screen: null },
        continued_by: null,
      },
    ],
    ["session_aliases", { alias: "early", session_id: id(3) }],
    [
      "queued_prompts",
      {
        ...{ prompt_id: id(6), session_id: id(3), position: 1, prompt: "Fix; it's 'quoted'", state: "delivered" },
        ...{ created_at: at, sent_at: at + 2 },
      },
    ],
    [
      "idempotency_keys",
      {
        ...{ account_id: id(1), idempotency_key: "k", request_hash: hash("b"), session_id: id(3), prompt_id: id(6) },
        ...{ started: "new", created_at: at },
      },
    ],
  ],
  "0002-worktrees": [
    [
      "worktrees",
      {
        ...{ worktree_id: id(10), session_id: id(3), node_id: id(9), state: "removed", repository: "/code/a's" },
        ...{
          common_dir: "/code/a's/.git",
          path: "/code/w/1",
          sub_folder: "",
          branch: "postern/x",
          base_branch: "main",
        },
        ...{ base_commit: "c".repeat(40), git_dir: null, inode: "12345", included: "[]", closing: "keep" },
        ...{ rescue_ref: "refs/postern/1", rescue_commit: "d".repeat(40), rescue_base: "c".repeat(40) },
        ...{ rescue_files: 2, rescued_at: at + 9, ignored_lost: null, created_at: at, updated_at: at + 9 },
      },
    ],
  ],
  "0003-events": [
    ["session_events", { event_id: "e1", body: '{"id":"e1"}' }],
    ["session_event_memos", { session_id: id(3), memo: "{}", updated_at: at }],
    ["event_marks", { name: "pruned", event_id: "e0" }],
    [
      "webhooks",
      {
        ...{ webhook_id: id(11), account_id: id(1), url: "https://hooks.example/x", kinds: null, folders: null },
        ...{ secret: "v1.sealed", failures: 0, created_at: at, disabled_at: null, disabled_reason: null },
      },
    ],
    [
      "webhook_deliveries",
      {
        ...{
          webhook_id: id(11),
          event_id: "e1",
          kind: "session.started",
          dir: "/code/a's",
          body: "{}",
          state: "waiting",
        },
        ...{ attempts: 1, next_attempt_at: at, last_attempt_at: null, last_status: null, last_error: null },
      },
    ],
  ],
  "0004-browser-sessions": [
    ["sign_in_links", { link_hash: hash("c"), account_id: id(1), created_at: at, expires_at: at + 600_000 }],
    [
      "browser_sessions",
      {
        ...{ browser_session_id: id(12), account_id: id(1), cookie_hash: hash("d"), key_hash: hash("e") },
        ...{ user_agent: "A browser", created_at: at, last_used_at: at, expires_at: at + 1 },
      },
    ],
  ],
  "0005-recordings": [
    ["recordings", { recording_id: id(13), terminal_id: id(5), session_id: id(3), started_at: at, ended_at: at + 3 }],
  ],
  "0006-oauth": [
    ["accounts", { account_id: id(20), name: "anna", is_owner: 0, scopes: '["coding:read"]', created_at: at }],
    [
      "passkeys",
      {
        ...{ passkey_id: "cGFzc2tleQ", account_id: id(20), name: "phone", public_key: "pQEC", sign_count: 7 },
        ...{ transports: '["internal"]', backed_up: 1, created_at: at, last_used_at: null },
      },
    ],
    [
      "audit_entries",
      {
        ...{ audit_id: "a1", at, account_id: id(1), account_name: "owner", action: "account_added", subject: id(20) },
        ...{ details: '{"name":"anna"}', address: "127.0.0.1", user_agent: null },
      },
    ],
    [
      "oauth_clients",
      { client_id: "c1", origin: "registered", name: "App", metadata: "{}", created_at: at, last_used_at: null },
    ],
    [
      "oauth_records",
      {
        ...{ kind: "RefreshToken", id_hash: hash("f"), payload: "{}", account_id: id(20), client_id: "c1" },
        ...{ grant_hash: hash("1"), user_code_hash: null, consumed_at: null, last_used_at: null },
        ...{ created_at: at, expires_at: at + 1 },
      },
    ],
    [
      "oauth_keys",
      { key_id: "k1", purpose: "signing", sealed: "v1.x", created_at: at, retired_at: null, expires_at: null },
    ],
  ],
  "0007-logs": [
    [
      "log_entries",
      {
        ...{ log_id: id(30), account_id: id(1), source: "session", session_id: id(3), dir: "/code/a's", title: "t" },
        ...{ form: "text", content: "Decision: timeout = 30 s", context: "{}", observed_at: at, recorded_at: at },
        ...{ status: "ready", failure: null, key_hash: null, request_hash: null },
      },
    ],
    ["log_turns", { account_id: id(1), session_id: id(3), turn_index: 0, log_id: id(30) }],
    ["episodes", { log_id: id(30), account_id: id(1), characters: 24, created_at: at }],
    [
      "log_chunks",
      { chunk_id: 1, log_id: id(30), account_id: id(1), position: 0, content: "Decision: timeout = 30 s" },
    ],
    ["log_words", { word_id: 1, account_id: id(1), word: "timeout" }],
    ["log_postings", { word_id: 1, chunk_id: 1, occurrences: 1 }],
    ["entities", { entity_id: "e-timeout", account_id: id(1), type: "Decision", key: "timeout" }],
    [
      "statements",
      {
        ...{ statement_id: "s-timeout", account_id: id(1), subject_id: "e-timeout", predicate: "status" },
        ...{ object_id: null, value: "30 s" },
      },
    ],
    [
      "facts",
      {
        ...{ log_id: id(30), position: 0, account_id: id(1), statement_id: "s-timeout", valid_from: at },
        ...{ subject_id: "e-timeout", predicate: "status", recorded_at: at, extractor: "rules@1" },
      },
    ],
    ["log_suppressions", { account_id: id(1), session_id: "s9", first_turn: 0, last_turn: 4, created_at: at }],
    ["log_marks", { name: "recorded", event_id: "e1", at }],
  ],
  "0008-forgotten": [["forgotten_sessions", { agent: "codex", session_id: id(40), forgotten_at: at, erased_at: null }]],
  "0009-tombstones": [["log_tombstones", { log_hash: hash("2"), deleted_at: at }]],
  "0010-chat": [
    [
      "chats",
      { channel: "telegram", chat_id: "7", dir: "/code/a's", agent: "codex", session_id: id(3), created_at: at },
    ],
    [
      "chat_sessions",
      {
        ...{ channel: "telegram", chat_id: "7", session_id: id(3), turn_index: 1, turn_length: 4 },
        ...{ prompt_message_id: "11", status_key: null, bound_at: at },
      },
    ],
    ["chat_marks", { channel: "telegram", event_id: "e1" }],
    [
      "chat_updates",
      {
        ...{ channel: "telegram", update_id: 5, chat_id: "7", message_id: "11", session_id: id(3), body: "{}" },
        ...{ request: null, state: "done", attempts: 1, received_at: at },
      },
    ],
    [
      "chat_messages",
      {
        ...{ channel: "telegram", message_key: "k", chat_id: "7", session_id: id(3), permission_id: null },
        ...{ body: "{}", final: 1, version: 1, delivered: 1, message_id: "12", state: "sent", created_at: at },
      },
    ],
  ],
  "0022-reviews": [
    [
      "review_comments",
      {
        ...{ comment_id: id(60), account_id: id(1), agent: "codex", session_id: id(3), author_kind: "person" },
        ...{
          author_session_id: null,
          path: "src/naïve.ts",
          side: "new",
          anchor: "{}",
          body: "It's wrong",
          state: "open",
        },
        ...{ send_key: null, created_at: at, updated_at: at },
      },
    ],
    [
      "review_viewed",
      { account_id: id(1), agent: "codex", session_id: id(3), path: "src/a.ts", version: "v", viewed_at: at },
    ],
  ],
  "0018-drafts": [
    ["session_drafts", { account_id: id(1), agent: "codex", session_id: id(3), text: "It's half", version: at }],
  ],
  "0017-session-notes": [
    [
      "session_notes",
      {
        ...{ agent: "codex", session_id: id(41), title: "It's fixed", pinned_at: at, archived_at: null },
        updated_at: at,
      },
    ],
    ["session_labels", { agent: "codex", session_id: id(41), label: "später" }],
    ["session_seen", { account_id: id(1), agent: "codex", session_id: id(41), seen_at: at }],
  ],
  "0012-worktree-names": [
    ["folders", { path: "/code/b", scopes: '["coding"]', created_at: at, worktree_name: "{repository}-{branch}" }],
  ],
  "0011-deletions": [
    [
      "log_deletions",
      {
        ...{
          deletion_id: id(50),
          account_id: id(1),
          plan: '{"action":"account_removed"}',
          is_decided: 0,
          begun_at: at,
        },
        ...{ logs: 0, episodes: 0, statements: 0, entities: 0, facts: 0 },
      },
    ],
    ["log_deletion_entries", { log_id: id(30), deletion_id: id(50) }],
  ],
  "0015-push": [
    ["push_keys", { name: "vapid", public_key: "BA", sealed: "v1.x", created_at: at }],
    [
      "push_preferences",
      {
        ...{ account_id: id(1), quiet_from: "22:00", quiet_to: "07:00", time_zone: "Europe/Berlin" },
        ...{ desktop_delay_ms: 30_000, show_titles: 0, show_requests: 1, updated_at: at },
      },
    ],
    ["push_kinds", { kind: "needs_permission", account_id: id(1) }],
    [
      "push_subscriptions",
      {
        ...{ subscription_id: id(60), account_id: id(1), endpoint_hash: hash("3"), sealed: "v1.x" },
        ...{ service: "push.example", name: "Phone", caller_kind: "browser", browser_session_id: id(12) },
        ...{ token_id: null, created_at: at, last_used_at: null, last_error: null },
      },
    ],
    [
      "push_deliveries",
      {
        ...{ subscription_id: id(60), session_id: id(3), reason: "permission", permission_id: "p1", state: "waiting" },
        ...{ version: 1, shown: null, held: 0, attempts: 0, due_at: at, expires_at: at + 1 },
      },
    ],
    [
      "push_actions",
      {
        ...{ token_hash: hash("4"), subscription_id: id(60), session_id: id(3), permission_id: "p1" },
        ...{ decision: "allow", expires_at: at + 1 },
      },
    ],
  ],
  "0020-shares": [
    [
      "shares",
      {
        ...{ share_id: id(65), secret_hash: "h", account_id: id(1), session_id: id(3), token_id: null, app_id: null },
        ...{ folders: null, created_at: at, expires_at: at + 1, first_opened_at: null, opens: 0 },
      },
    ],
  ],
  "0023-folder-profiles": [
    [
      "folder_profiles",
      {
        ...{ path: "/code/b", settings: '{"setup":"echo it\'s"}', env_names: '["TOKEN"]', sealed_env: "v1.x" },
        updated_at: at,
      },
    ],
    [
      "profile_proposals",
      {
        ...{ repository: "/code/b", folder: "/code/b", proposed: '{"setup":"make"}', proposed_at: at },
        ...{ approved: null, approved_at: null },
      },
    ],
  ],
  "0025-comparisons": [
    [
      "comparisons",
      {
        ...{ comparison_id: id(66), account_id: id(1), idempotency_key: "k", request_hash: "h", title: "Fix it" },
        ...{ dir: "/code/b", base_branch: "main", base_commit: "c", created_at: at, kept_position: 0 },
      },
    ],
    [
      "comparison_sessions",
      {
        ...{ comparison_id: id(66), position: 0, agent: "claude", model: null, session_id: id(3) },
        ...{ error_code: null, error_detail: null },
      },
    ],
  ],
};
