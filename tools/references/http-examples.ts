const bearer = `-H "Authorization: Bearer $TOKEN"`;

function post(path: string, body: string, method = ""): string {
  return `curl -s ${method}${bearer} "$GATEWAY${path}" \\\n  -H 'Content-Type: application/json' -d '${body}'`;
}

/** Examples for routes with required input, by operation. A test runs each one. */
export const httpExamples: Readonly<Record<string, string | null>> = {
  coding_ask: post("/api/coding/coding_ask", `{ "dir": "'"$PWD"'", "prompt": "What is here?", "waitMs": 60000 }`),
  coding_read_session: post("/api/coding/coding_read_session", `{ "sessionId": "'"$ID"'", "last": 2 }`),
  coding_list_sessions: post("/api/coding/coding_list_sessions", `{ "limit": 5 }`),
  coding_search_sessions: post("/api/coding/coding_search_sessions", `{ "query": "rate limit", "in": "all" }`),
  coding_interrupt: post("/api/coding/coding_interrupt", `{ "sessionId": "'"$ID"'" }`),
  coding_list_agents: post("/api/coding/coding_list_agents", "{}"),
  rescueList: post("/api/coding/rescue_list", "{}"),
  submitLog: post("/api/v1/logs", `{ "content": "Decision: retries = 3", "title": "The flaky mirror" }`),
  searchLogs: `curl -s ${bearer} "$GATEWAY/api/v1/search?q=mirror"`,
  memory_search: post("/api/coding/memory_search", `{ "q": "mirror" }`),
  memory_facts: post("/api/coding/memory_facts", `{ "subject": "Decision:retries" }`),
  createToken: post("/api/tokens", `{ "name": "reader", "scopes": ["coding:read"] }`),
};
