import type { Generated } from "kysely";

/**
 * The tables of the store, the same on SQLite and PostgreSQL. Times are milliseconds since the epoch, booleans are 0 or 1,
 * lists are JSON text, because both dialects store and compare these types in the same way.
 */
export interface Tables {
  accounts: {
    account_id: string;
    name: string;
    is_owner: number;
    /** Upper bound for the account's tokens, apps and browsers. Empty for the owner, who has all scopes. */
    scopes: Generated<string>;
    created_at: number;
  };
  /** Public keys of passkeys. */
  passkeys: {
    /** The credential's id, base64url. */
    passkey_id: string;
    account_id: string;
    name: string;
    /** COSE key, base64url. */
    public_key: string;
    sign_count: number;
    /** JSON list. */
    transports: string;
    backed_up: number;
    created_at: number;
    last_used_at: number | null;
  };
  /** The audit log. Entries outlive their account. */
  audit_entries: {
    /** Sorts by time. */
    audit_id: string;
    at: number;
    account_id: string | null;
    /** Its name at the time. */
    account_name: string | null;
    action: string;
    /** Id of the object. */
    subject: string | null;
    /** JSON object, never secrets. */
    details: string;
    address: string | null;
    user_agent: string | null;
  };
  /** Clients that registered themselves, were added by the owner, or are known by their metadata document. */
  oauth_clients: {
    client_id: string;
    origin: "registered" | "added" | "document";
    name: string;
    /** JSON of RFC 7591; a secret in it is sealed. */
    metadata: string;
    created_at: number;
    last_used_at: number | null;
  };
  /** Records of the authorization server: codes, access and refresh tokens, grants, device codes. */
  oauth_records: {
    kind: string;
    /** SHA-256 of the record's id, which is the token itself, hex. */
    id_hash: string;
    /** JSON, without the id. */
    payload: string;
    account_id: string | null;
    client_id: string | null;
    /** SHA-256 of the grant's id, hex. */
    grant_hash: string | null;
    /** HMAC-SHA-256 of a device's user code, hex, with the key in the state folder, because the code is short. */
    user_code_hash: string | null;
    consumed_at: number | null;
    last_used_at: number | null;
    created_at: number;
    expires_at: number | null;
  };
  /** Keys of the authorization server, sealed. */
  oauth_keys: {
    key_id: string;
    purpose: "signing" | "cookies";
    sealed: string;
    created_at: number;
    /** No longer used for signing; verifies until `expires_at`. */
    retired_at: number | null;
    expires_at: number | null;
  };
  personal_tokens: {
    token_id: string;
    account_id: string;
    name: string;
    /** SHA-256 of the token, hex. The token is not stored. */
    token_hash: string;
    scopes: string;
    folders: string | null;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Links to read one session. Revoked ones are deleted. */
  shares: {
    share_id: string;
    /** SHA-256 of the link's secret, hex. */
    secret_hash: string;
    account_id: string;
    session_id: string;
    /** The personal token that created it. The link ends when the token does. */
    token_id: string | null;
    /** The app that created it. The link ends when the app's access does. */
    app_id: string | null;
    /** JSON list: the folders that its creator was limited to. */
    folders: string | null;
    created_at: number;
    expires_at: number;
    first_opened_at: number | null;
    opens: Generated<number>;
  };
  /** Unused sign-in links, by the SHA-256 of their fragment. */
  sign_in_links: { link_hash: string; account_id: string; created_at: number; expires_at: number };
  /** Signed-in browsers. Revoked ones are deleted. */
  browser_sessions: {
    browser_session_id: string;
    account_id: string;
    /** SHA-256 of the cookie and of the key in the origin's storage, hex. Neither is stored. */
    cookie_hash: string;
    key_hash: string;
    user_agent: string;
    created_at: number;
    last_used_at: number;
    expires_at: number;
  };
  folders: {
    path: string;
    scopes: string;
    created_at: number;
    /** The template for the directory names of worktrees. */
    worktree_name: Generated<string>;
  };
  /** How agents begin in a folder. */
  folder_profiles: {
    path: string;
    /** JSON: everything except the variables. */
    settings: string;
    /** JSON list. */
    env_names: string;
    /** Sealed JSON: names and values. */
    sealed_env: string | null;
    updated_at: number;
  };
  /** Profiles that repositories propose in `.postern.json`. */
  profile_proposals: {
    repository: string;
    folder: string;
    /** The content that waits for the owner. */
    proposed: string | null;
    proposed_at: number | null;
    /** The content that the owner approved last. */
    approved: string | null;
    approved_at: number | null;
  };
  configured_agents: { name: string; binary: string | null; is_default: number; configured_at: number };
  sessions: {
    session_id: string;
    /** The gateway that owns the session's terminal. */
    node_id: string;
    agent: string;
    dir: string;
    title: string | null;
    model: string | null;
    permission_mode: string;
    transcript_path: string | null;
    /** Name of the session's folder in the state folder, with its hook inbox and settings files. */
    launch_id: string | null;
    terminal_id: string | null;
    created_at: number;
    updated_at: number;
    closed_at: number | null;
    exit_code: number | null;
    signal: string | null;
    last_screen: string | null;
    continued_by: string | null;
    keep_running: Generated<number>;
    /** Milliseconds. */
    ended_after_idle_ms: number | null;
  };
  /** Standing rules that answer permission requests. */
  permission_rules: {
    rule_id: string;
    account_id: string;
    creator_kind: "socket" | "token" | "browser" | "app" | "jwt" | "open";
    /** Id of the creator's token or app. */
    creator_credential: string | null;
    effect: "allow" | "deny";
    agent: string | null;
    /** Null for a rule of a folder. */
    session_id: string | null;
    /** Real path of the folder, or of the session's directory. */
    dir: string;
    tool: "command" | "edit" | "read";
    pattern: string;
    /** Whether it also answers in sessions of `undriven_sessions`. */
    undriven: number;
    created_at: number;
    expires_at: number | null;
    uses: number;
    last_used_at: number | null;
  };
  /** Sessions that got a prompt from a caller without the scope `coding:drive`, by any of their ids. */
  undriven_sessions: { session_id: string };
  /** A session's part of a terminal's recording. `ended_at` null: up to the end. */
  recordings: {
    recording_id: string;
    terminal_id: string;
    session_id: string;
    started_at: number;
    ended_at: number | null;
  };
  session_aliases: { alias: string; session_id: string };
  /** Sessions whose content until `forgotten_at` is not indexed again. */
  forgotten_sessions: {
    agent: string;
    session_id: string;
    forgotten_at: number;
    /** Null until erased from the catalog's files. */
    erased_at: number | null;
  };
  /** Notes of people about a session, which may have no record in `sessions`. */
  session_notes: {
    agent: string;
    session_id: string;
    /** Takes precedence over the agent's. */
    title: string | null;
    pinned_at: number | null;
    archived_at: number | null;
    updated_at: number;
  };
  session_labels: { agent: string; session_id: string; label: string };
  /** The time up to which an account has seen a session's changes. With an empty agent and ID: for all sessions of the account. */
  session_seen: { account_id: string; agent: string; session_id: string; seen_at: number };
  worktrees: {
    worktree_id: string;
    session_id: string;
    node_id: string;
    state: "creating" | "recreating" | "ready" | "closing" | "removing" | "removed";
    repository: string;
    common_dir: string;
    path: string;
    /** The agent's folder in it; empty for the root. */
    sub_folder: string;
    branch: string;
    base_branch: string;
    base_commit: string;
    git_dir: string | null;
    /** The inode of the folder at `path`. */
    inode: string | null;
    /** JSON list of files copied by `.worktreeinclude`. */
    included: string;
    /** `keep` or `discard`, while closing. */
    closing: string | null;
    rescue_ref: string | null;
    rescue_commit: string | null;
    /** The branch's commit when the rescue was made. */
    rescue_base: string | null;
    rescue_files: number | null;
    rescued_at: number | null;
    ignored_lost: string | null;
    created_at: number;
    updated_at: number;
  };
  queued_prompts: {
    prompt_id: string;
    session_id: string;
    position: number;
    prompt: string;
    state: "queued" | "sent" | "delivered" | "lost" | "unknown";
    created_at: number;
    sent_at: number | null;
    /** The account and credential that queued it; null if queued before Postern recorded this. */
    asked_by: string | null;
    /** 1 for a command of the agent that starts a turn. */
    starts_turn: number;
  };
  /** Files attached to prompts. Their contents are in the state folder. */
  attachments: {
    attachment_id: string;
    account_id: string;
    /** The session whose prompts use it, by its id at that time; null until a prompt uses it. */
    session_id: string | null;
    /** The file name that the caller gave. */
    name: string;
    /** Its name in the state folder: ASCII, with the extension of its type. */
    file_name: string;
    media_type: string;
    size_bytes: number;
    sha256: string;
    created_at: number;
    /** The account and credential that uploaded it; null if uploaded before Postern recorded this. */
    added_by: string | null;
  };
  prompt_attachments: {
    prompt_id: string;
    attachment_id: string;
    position: number;
    /** Whether this prompt is the first in its session to use the file. If the prompt is refused, the file is unused again. */
    newly_taken: number;
  };
  idempotency_keys: {
    account_id: string;
    idempotency_key: string;
    request_hash: string;
    session_id: string;
    prompt_id: string;
    started: "new" | "reconnect" | "resumed";
    created_at: number;
  };
  /** The newest events, with ids that sort by publication. */
  session_events: { event_id: string; body: string };
  /** The last published state of each session, so that a restart finds unpublished changes. */
  session_event_memos: { session_id: string; memo: string; updated_at: number };
  /** `pruned`: the newest deleted event. `push`: the newest event that was turned into notifications. */
  event_marks: { name: string; event_id: string };
  webhooks: {
    webhook_id: string;
    account_id: string;
    url: string;
    kinds: string | null;
    /** Folders its creator was limited to. */
    folders: string | null;
    /** The sealed signing secret. */
    secret: string;
    /** Failed attempts since the last success. */
    failures: number;
    created_at: number;
    disabled_at: number | null;
    disabled_reason: string | null;
  };
  webhook_deliveries: {
    webhook_id: string;
    event_id: string;
    kind: string;
    dir: string;
    body: string;
    state: "waiting" | "delivered" | "dead";
    attempts: number;
    next_attempt_at: number;
    last_attempt_at: number | null;
    last_status: number | null;
    last_error: string | null;
  };
  /** Entries of the memory, secrets masked. Everything derived from an entry is deleted with it. */
  log_entries: {
    /** Sorts by recording. */
    log_id: string;
    account_id: string;
    source: "session" | "api";
    session_id: string | null;
    /** Real path for the folder rule; for a worktree its repository. Null if unknown. */
    dir: string | null;
    title: string | null;
    form: "text" | "turns";
    /** Text, or a JSON list of turns. */
    content: string;
    /** JSON: agent, repository and branch, if known. */
    context: string;
    observed_at: number;
    recorded_at: number;
    status: "pending" | "ready" | "failed";
    failure: string | null;
    /** SHA-256 of the idempotency key and of the request, hex. */
    key_hash: string | null;
    request_hash: string | null;
  };
  /** Recorded turns, each once. */
  log_turns: { account_id: string; session_id: string; turn_index: number; log_id: string };
  /** The normalized form of an entry; missing while the entry is pending. */
  episodes: { log_id: string; account_id: string; characters: number; created_at: number };
  /** Pieces of an episode's text. */
  log_chunks: { chunk_id: Generated<number>; log_id: string; account_id: string; position: number; content: string };
  /** Folded words that occur in chunks. */
  log_words: { word_id: Generated<number>; account_id: string; word: string };
  log_postings: { word_id: number; chunk_id: number; occurrences: number };
  /** Entities in statements, one per account, type and canonical key. */
  entities: { entity_id: string; account_id: string; type: string; key: string };
  /** Timeless triples asserted by facts. The id is a hash. */
  statements: {
    statement_id: string;
    account_id: string;
    subject_id: string;
    predicate: string;
    /** The object is an entity or a value. */
    object_id: string | null;
    value: string | null;
  };
  /** A statement in an episode, with its time. When it ends is computed. */
  facts: {
    log_id: string;
    position: number;
    account_id: string;
    statement_id: string;
    /** Copied from the statement. */
    subject_id: string;
    predicate: string;
    valid_from: number;
    recorded_at: number;
    extractor: string;
  };
  /** The recorder's position. */
  log_marks: { name: string; event_id: string; at: number };
  /** Deleted turns, which are not recorded again automatically. */
  log_suppressions: {
    account_id: string;
    session_id: string;
    first_turn: number;
    last_turn: number;
    created_at: number;
  };
  /** Hashes of deleted entries, which are deleted again from a restored backup. */
  log_tombstones: {
    /** SHA-256 of the entry's id, hex. */
    log_hash: string;
    deleted_at: number;
  };
  /** Deletions that take several transactions, with counts of removed rows. If `is_decided` is 1, their entries are invisible. */
  log_deletions: {
    deletion_id: string;
    account_id: string;
    /** JSON: what to do at the end. */
    plan: string;
    is_decided: number;
    begun_at: number;
    logs: Generated<number>;
    episodes: Generated<number>;
    statements: Generated<number>;
    entities: Generated<number>;
    facts: Generated<number>;
  };
  /** Entries that still must be removed. */
  log_deletion_entries: { log_id: string; deletion_id: string };
  /** Settings of chats. */
  chats: {
    channel: string;
    chat_id: string;
    dir: string | null;
    agent: string | null;
    /** The session for messages that are not replies. */
    session_id: string | null;
    created_at: number;
  };
  /** Sessions that a chat follows, with its position. */
  chat_sessions: {
    channel: string;
    chat_id: string;
    session_id: string;
    /** The newest reported turn, and the length of its reported text. */
    turn_index: number;
    turn_length: number;
    /** The message with the newest prompt. */
    prompt_message_id: string | null;
    /** The status message of the running turn. */
    status_key: string | null;
    bound_at: number;
  };
  /** The newest event reported to every chat of a channel. */
  chat_marks: { channel: string; event_id: string };
  /** Updates from chats. Body and request are cleared when done. */
  chat_updates: {
    channel: string;
    update_id: number;
    chat_id: string;
    message_id: string | null;
    /** The session that received it. */
    session_id: string | null;
    body: string;
    /** The tool request, stored before it is made. */
    request: string | null;
    state: "waiting" | "done" | "refused";
    attempts: number;
    received_at: number;
  };
  /** Messages in chats, with the wanted (`version`) and the sent (`delivered`) version. */
  chat_messages: {
    ordinal: Generated<number>;
    channel: string;
    /** Identifies content and place, so that nothing is sent twice. */
    message_key: string;
    chat_id: string;
    session_id: string | null;
    /** The open permission request it shows. */
    permission_id: string | null;
    /** Cleared once final and sent. */
    body: string;
    final: number;
    version: number;
    delivered: number;
    message_id: string | null;
    /** `sending` from just before it is sent; `repeat` if the outcome is unknown. */
    state: "waiting" | "sending" | "repeat" | "sent" | "failed";
    created_at: number;
  };
  /** The gateway's VAPID key, sealed. One row. */
  push_keys: { name: string; public_key: string; sealed: string; created_at: number };
  /** Unsent prompts. Agent and ID are empty in a draft for a new session. */
  session_drafts: {
    account_id: string;
    agent: string;
    session_id: string;
    text: string;
    /** The time of its last change. */
    version: number;
  };
  /** Comparisons of agents on the same prompt. */
  comparisons: {
    comparison_id: string;
    account_id: string;
    idempotency_key: string | null;
    request_hash: string;
    /** From the prompt. */
    title: string | null;
    dir: string;
    base_branch: string;
    /** The commit at which every worktree started. */
    base_commit: string;
    created_at: number;
    /** The contender that was kept. */
    kept_position: number | null;
  };
  /** The contenders of comparisons. */
  comparison_sessions: {
    comparison_id: string;
    /** Place in the request. */
    position: number;
    agent: string;
    model: string | null;
    /** The session's id when it started. Null if none was created. */
    session_id: string | null;
    /** Why the agent did not start. */
    error_code: string | null;
    error_detail: string | null;
  };
  /** Each account's review comments on sessions' changes. */
  review_comments: {
    comment_id: string;
    account_id: string;
    agent: string;
    session_id: string;
    author_kind: "person" | "token" | "app";
    /** The session whose agent wrote it. */
    author_session_id: string | null;
    path: string;
    side: "old" | "new";
    /** The commented lines with their context, as JSON. */
    anchor: string;
    body: string;
    state: "open" | "sent" | "answered" | "resolved";
    /** Identifies the prompt that the comment was sent with; null while the comment is open. */
    send_key: string | null;
    created_at: number;
    updated_at: number;
  };
  /** Files that an account has marked as viewed. */
  review_viewed: {
    account_id: string;
    agent: string;
    session_id: string;
    path: string;
    /** The version of its changes that was viewed. */
    version: string;
    viewed_at: number;
  };
  push_preferences: {
    account_id: string;
    /** Times of day, such as `22:00`. */
    quiet_from: string | null;
    quiet_to: string | null;
    time_zone: string | null;
    desktop_delay_ms: number;
    show_titles: number;
    show_requests: number;
    updated_at: number;
  };
  /** The kinds of notifications that an account wants. */
  push_kinds: { kind: string; account_id: string };
  /** Browsers that receive notifications. */
  push_subscriptions: {
    subscription_id: string;
    account_id: string;
    /** SHA-256 of the endpoint, hex. */
    endpoint_hash: string;
    /** Endpoint and keys, JSON, sealed. */
    sealed: string;
    /** Host of the push service. */
    service: string;
    name: string;
    /** The kind of credential that subscribed: notifications end with it. */
    caller_kind: "browser" | "token" | "open";
    browser_session_id: string | null;
    token_id: string | null;
    created_at: number;
    last_used_at: number | null;
    last_error: string | null;
  };
  /** The newest notification of each session for each browser. */
  push_deliveries: {
    subscription_id: string;
    session_id: string;
    reason: "permission" | "attention" | "turn" | "failed" | "limited" | "check";
    permission_id: string | null;
    /** `shown`: sent, and withdrawn when it is answered. */
    state: "waiting" | "shown";
    /** Increases with each notification that replaces the previous one. */
    version: number;
    /** The id of the permission request that the browser shows; `attention` for other notifications. */
    shown: string | null;
    /** Held back by quiet hours. */
    held: number;
    attempts: number;
    due_at: number;
    expires_at: number;
  };
  /** Single-use tokens of a notification's actions. */
  push_actions: {
    token_hash: string;
    subscription_id: string;
    session_id: string;
    permission_id: string;
    decision: "allow" | "deny";
    expires_at: number;
  };
}
