import type { Generated } from "kysely";

/**
 * The tables of the store, the same on SQLite and PostgreSQL. Times are milliseconds since the epoch, booleans are 0 or 1,
 * lists are JSON text: what both dialects store and compare alike.
 */
export interface Tables {
  accounts: {
    account_id: string;
    name: string;
    is_owner: number;
    /** What the account may at most, and so each token, app and browser of it. The owner's is empty: that account holds all. */
    scopes: Generated<string>;
    created_at: number;
  };
  /** Of each passkey the public half, as browsers and authenticators gave it. */
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
  /** What was decided and made, by whom and from where. Stays when the account it names goes. */
  audit_entries: {
    /** Sorts as it happened. */
    audit_id: string;
    at: number;
    account_id: string | null;
    /** As it was called then. */
    account_name: string | null;
    action: string;
    /** Id of what it was done to. */
    subject: string | null;
    /** JSON object, never secrets. */
    details: string;
    address: string | null;
    user_agent: string | null;
  };
  /** Clients that registered themselves, that the owner added, and those known by their metadata document. */
  oauth_clients: {
    client_id: string;
    origin: "registered" | "added" | "document";
    name: string;
    /** JSON of RFC 7591; a secret in it is sealed. */
    metadata: string;
    created_at: number;
    last_used_at: number | null;
  };
  /** What the authorization server keeps, of each kind: codes, access and refresh tokens, grants, device codes. */
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
    /** HMAC-SHA-256 of a device's user code, hex, with the key beside the store: the code is short. */
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
    /** From then on nothing is signed with it; until `expires_at` it verifies. */
    retired_at: number | null;
    expires_at: number | null;
  };
  personal_tokens: {
    token_id: string;
    account_id: string;
    name: string;
    /** SHA-256 of the token, hex. The token itself is nowhere. */
    token_hash: string;
    scopes: string;
    folders: string | null;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Sign-in links that nobody used yet, by the SHA-256 of what stands behind their `#`. */
  sign_in_links: { link_hash: string; account_id: string; created_at: number; expires_at: number };
  /** Browsers that are signed in. One that is revoked is no longer here. */
  browser_sessions: {
    browser_session_id: string;
    account_id: string;
    /** SHA-256 of the cookie's value and of the key in the origin's storage, hex. Themselves they are nowhere. */
    cookie_hash: string;
    key_hash: string;
    user_agent: string;
    created_at: number;
    last_used_at: number;
    expires_at: number;
  };
  folders: { path: string; scopes: string; created_at: number };
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
    /** Names the session's folder under the state folder, with its hook inbox and settings files. */
    launch_id: string | null;
    terminal_id: string | null;
    created_at: number;
    updated_at: number;
    closed_at: number | null;
    exit_code: number | null;
    signal: string | null;
    last_screen: string | null;
    continued_by: string | null;
  };
  /** Each time that a terminal showed a session: the session's part of the terminal's recording. `ended_at` null: to its end. */
  recordings: {
    recording_id: string;
    terminal_id: string;
    session_id: string;
    started_at: number;
    ended_at: number | null;
  };
  session_aliases: { alias: string; session_id: string };
  /** What was said in such a session until `forgotten_at` is not read into the catalog again. */
  forgotten_sessions: {
    agent: string;
    session_id: string;
    forgotten_at: number;
    /** Null until nothing of it is in the catalog's files. */
    erased_at: number | null;
  };
  worktrees: {
    worktree_id: string;
    session_id: string;
    node_id: string;
    state: "creating" | "recreating" | "ready" | "closing" | "removing" | "removed";
    repository: string;
    common_dir: string;
    path: string;
    /** The folder of it in which the agent works; empty for its root. */
    sub_folder: string;
    branch: string;
    base_branch: string;
    base_commit: string;
    git_dir: string | null;
    /** Of the folder at `path`, which nothing else has while it stands. */
    inode: string | null;
    /** JSON list of the files that `.worktreeinclude` brought in. */
    included: string;
    /** `keep` or `discard`: what the close that is under way was told. */
    closing: string | null;
    rescue_ref: string | null;
    rescue_commit: string | null;
    /** Where the branch stood then. */
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
  /** The newest events, by ids that sort as they were published. */
  session_events: { event_id: string; body: string };
  /** What was last told of a session, so that a restart finds what was not. */
  session_event_memos: { session_id: string; memo: string; updated_at: number };
  /** `pruned`: the newest event that is no longer kept. */
  event_marks: { name: string; event_id: string };
  webhooks: {
    webhook_id: string;
    account_id: string;
    url: string;
    kinds: string | null;
    /** What its creator was limited to. */
    folders: string | null;
    /** Sealed: signatures are made with it. */
    secret: string;
    /** Failed attempts since the last that succeeded. */
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
  /** What was submitted to be remembered, secrets masked. All that is derived from it goes with it. */
  log_entries: {
    /** Sorts as they were recorded. */
    log_id: string;
    account_id: string;
    source: "session" | "api";
    session_id: string | null;
    /** Real path of where it happened, for the folder rule: of a gateway-made worktree its repository. Null when it is of no place. */
    dir: string | null;
    title: string | null;
    form: "text" | "turns";
    /** Text, or a JSON list of turns. */
    content: string;
    /** JSON: agent, repository and branch, where they are known. */
    context: string;
    observed_at: number;
    recorded_at: number;
    status: "pending" | "ready" | "failed";
    failure: string | null;
    /** SHA-256 of the caller's idempotency key, hex, and of what came with it. */
    key_hash: string | null;
    request_hash: string | null;
  };
  /** Each turn of a session is remembered once. */
  log_turns: { account_id: string; session_id: string; turn_index: number; log_id: string };
  /** The normalised form of an entry: none while it is pending. */
  episodes: { log_id: string; account_id: string; characters: number; created_at: number };
  /** The text of an episode, in pieces. */
  log_chunks: { chunk_id: Generated<number>; log_id: string; account_id: string; position: number; content: string };
  /** Words of chunks, folded, as long as a chunk holds them. */
  log_words: { word_id: Generated<number>; account_id: string; word: string };
  log_postings: { word_id: number; chunk_id: number; occurrences: number };
  /** A thing, one for each account, type and canonical key, while a statement speaks of it. */
  entities: { entity_id: string; account_id: string; type: string; key: string };
  /** A triple, timeless, while a fact asserts it. Its id is its hash. */
  statements: {
    statement_id: string;
    account_id: string;
    subject_id: string;
    predicate: string;
    /** The object: an entity, or a value. */
    object_id: string | null;
    value: string | null;
  };
  /** An episode says a statement at a time. When it ends to hold is computed, never stored. */
  facts: {
    log_id: string;
    position: number;
    account_id: string;
    statement_id: string;
    /** As its statement has them. */
    subject_id: string;
    predicate: string;
    valid_from: number;
    recorded_at: number;
    extractor: string;
  };
  /** The event that recording came to. */
  log_marks: { name: string; event_id: string; at: number };
  /** Turns that were deleted, and are not recorded again by themselves. */
  log_suppressions: {
    account_id: string;
    session_id: string;
    first_turn: number;
    last_turn: number;
    created_at: number;
  };
  /** Entries that were deleted, without anything of them: a restored backup that still has one loses it again. */
  log_tombstones: {
    /** SHA-256 of the entry's id, hex. */
    log_hash: string;
    deleted_at: number;
  };
  /** Deletions that take more than one transaction. Where `is_decided` is 1 their entries are gone for all that asks; the rows that went are counted. */
  log_deletions: {
    deletion_id: string;
    account_id: string;
    /** JSON: what is to be done at its end. */
    plan: string;
    is_decided: number;
    begun_at: number;
    logs: Generated<number>;
    episodes: Generated<number>;
    statements: Generated<number>;
    entities: Generated<number>;
    facts: Generated<number>;
  };
  /** Entries that are still to be removed. */
  log_deletion_entries: { log_id: string; deletion_id: string };
  /** What a chat is set to. */
  chats: {
    channel: string;
    chat_id: string;
    dir: string | null;
    agent: string | null;
    /** The session that a message without a reply goes on with. */
    session_id: string | null;
    created_at: number;
  };
  /** The sessions that a chat hears of, and how far it has heard. */
  chat_sessions: {
    channel: string;
    chat_id: string;
    session_id: string;
    /** The newest turn that was told, and how much of its text. */
    turn_index: number;
    turn_length: number;
    /** The chat's message with the newest prompt. */
    prompt_message_id: string | null;
    /** The message that says how the turn stands, while it runs. */
    status_key: string | null;
    bound_at: number;
  };
  /** The newest event that every chat of a channel was told of. */
  chat_marks: { channel: string; event_id: string };
  /** What came from chats. Body and request are emptied when it is done. */
  chat_updates: {
    channel: string;
    update_id: number;
    chat_id: string;
    message_id: string | null;
    /** The session that it went to. */
    session_id: string | null;
    body: string;
    /** What is asked of a tool for it, from before it is asked. */
    request: string | null;
    state: "waiting" | "done" | "refused";
    attempts: number;
    received_at: number;
  };
  /** What is said in chats: as it shall read (`version`), and what was told of it (`delivered`). */
  chat_messages: {
    ordinal: Generated<number>;
    channel: string;
    /** What it says and where: the same is never said twice. */
    message_key: string;
    chat_id: string;
    session_id: string | null;
    /** Of a question that is open: what it asks for. */
    permission_id: string | null;
    /** Emptied when nothing of it will change any more and it was told. */
    body: string;
    final: number;
    version: number;
    delivered: number;
    message_id: string | null;
    /** `sending` from just before it is sent; `repeat` when nobody knows whether it was. */
    state: "waiting" | "sending" | "repeat" | "sent" | "failed";
    created_at: number;
  };
}
