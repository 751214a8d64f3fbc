import { type Desk, quoted, type SessionTruth } from "./session.ts";

interface VersionForm {
  readonly version: string;
  readonly form: "responses" | "events" | "items";
}

/** Versions by format: bare items of the model's API, items with events, wrapped items. */
const newest: VersionForm = { version: "0.169.0", form: "items" };
const versions: readonly [VersionForm, ...VersionForm[]] = [
  { version: "0.20.0", form: "responses" },
  { version: "0.47.0", form: "events" },
  { version: "0.98.0", form: "events" },
  newest,
  newest,
];

/** Writes a rollout of Codex. */
export function writeCodexSession(desk: Desk): SessionTruth {
  const { random, out, plan } = desk;
  const { version, form } = plan.subAgent ? newest : random.pick(versions);
  const pen =
    form === "responses" ? oldPen(desk) : form === "events" ? eventPen(desk, version) : itemPen(desk, version);
  pen.meta();
  for (let turn = 0; turn === 0 || !desk.full(); turn++) {
    pen.prompt(desk.prompt());
    if (random.chance(0.04)) {
      pen.aborted();
      continue;
    }
    const steps = random.between(0, 14);
    for (let step = 0; step < steps && !(step > 0 && desk.full()); step++) {
      if (random.chance(0.3)) pen.thinking(desk.answer());
      desk.acted();
      pen.call(`call_${random.hex(16)}`);
    }
    pen.answer(desk.answer());
    if (random.chance(0.01)) pen.compacted();
  }
  if (plan.halfLastLine)
    out.raw('{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":{"type":"user_mess');
  out.end();
  return desk.truth();
}

interface Pen {
  meta(): void;
  prompt(words: string): void;
  thinking(words: string): void;
  call(id: string): void;
  answer(words: string): void;
  aborted(): void;
  compacted(): void;
}

const environment = (cwd: string): string =>
  quoted(
    `<environment_context>\n  <cwd>${cwd}</cwd>\n  <approval_policy>never</approval_policy>\n  <shell>bash</shell>\n</environment_context>`,
  );
const message = (role: "user" | "assistant", text: string): string =>
  `"type":"message","role":"${role}","content":[{"type":"${role === "user" ? "input_text" : "output_text"}","text":${text}}]`;
const reasoning = (text: string): string =>
  `"type":"reasoning","summary":[{"type":"summary_text","text":${text}}],"content":null,"encrypted_content":"c2VjcmV0"`;
const command = (id: string): string =>
  `"type":"function_call","name":"shell","arguments":"{\\"command\\":[\\"bash\\",\\"-lc\\",\\"rg total${id.slice(-4)} src\\"]}","call_id":"${id}"`;

/** Version 0.2x: the model's items as they are, without times. */
function oldPen({ plan, out, tick, result }: Desk): Pen {
  return {
    meta() {
      out.line(
        `{"id":"${plan.sessionId}","timestamp":"${tick()}","instructions":null,"git":{"branch":${quoted(plan.branch)}}}`,
      );
      out.line(`{${message("user", environment(plan.cwd))}}`);
    },
    prompt(words) {
      tick();
      out.line('{"record_type":"state"}');
      out.line(`{${message("user", quoted(words))}}`);
    },
    thinking: (words) => out.line(`{${reasoning(quoted(words))}}`),
    call(id) {
      tick();
      out.line(`{${command(id)}}`);
      out.line(
        `{"type":"function_call_output","call_id":"${id}","output":"{\\"output\\":\\"`,
        doubly(result()),
        '\\",\\"metadata\\":{\\"exit_code\\":0}}"}',
      );
    },
    answer: (words) => out.line(`{${message("assistant", quoted(words))}}`),
    aborted: () => out.line('{"record_type":"state"}'),
    compacted: () => out.line('{"record_type":"state"}'),
  };
}

/** Text that is escaped for JSON once, escaped once more: it stands in JSON inside of JSON. */
function doubly(text: Buffer): string {
  return text.toString().replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

/** Lines with a time and a type. */
function lineWriter({ out, tick }: Desk, numbered: boolean) {
  let ordinal = 0;
  return (type: string, ...payload: readonly (string | Buffer)[]): void => {
    const order = numbered ? `"ordinal":${ordinal++},` : "";
    out.line(`{"timestamp":"${tick()}",${order}"type":"${type}","payload":{`, ...payload, "}}");
  };
}

/** Versions 0.3x to 0.13x: events for messages, along with the model's items. */
function eventPen(desk: Desk, version: string): Pen {
  const { plan, random, filler, result, tick } = desk;
  const line = lineWriter(desk, false);
  let total = 0;
  const tokens = (): void => {
    total += 120;
    const sum = `{"input_tokens":${total - 20},"cached_input_tokens":40,"output_tokens":20,"total_tokens":${total}}`;
    line(
      "event_msg",
      `"type":"token_count","info":{"total_token_usage":${sum},"last_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20,"total_tokens":120},"model_context_window":272000}`,
    );
  };
  return {
    meta() {
      const git = `{"branch":${quoted(plan.branch)},"commit_hash":"${random.hex(40)}"}`;
      line(
        "session_meta",
        `"id":"${plan.sessionId}","timestamp":"${tick()}","cwd":${quoted(plan.cwd)},"originator":"codex_cli_rs","cli_version":"${version}","instructions":"`,
        filler.take(random, Math.min(3_000, plan.sizeBytes / 5)),
        `","source":"cli","git":${git}`,
      );
      line("response_item", message("user", environment(plan.cwd)));
    },
    prompt(words) {
      line("response_item", message("user", quoted(words)));
      line("event_msg", `"type":"user_message","message":${quoted(words)},"kind":"plain"`);
      line(
        "turn_context",
        `"cwd":${quoted(plan.cwd)},"approval_policy":"never","sandbox_policy":{"mode":"danger-full-access"},"model":"gpt-5-codex","summary":"auto"`,
      );
    },
    thinking(words) {
      line("event_msg", `"type":"agent_reasoning","text":${quoted(words)}`);
      line("response_item", reasoning(quoted(words)));
    },
    call(id) {
      line("response_item", command(id));
      line(
        "response_item",
        `"type":"function_call_output","call_id":"${id}","output":"Exit code: 0\\nWall time: 0.1 seconds\\nOutput:\\n`,
        result(),
        '"',
      );
      tokens();
    },
    answer(words) {
      line("event_msg", `"type":"agent_message","message":${quoted(words)}`);
      tokens();
      line("response_item", message("assistant", quoted(words)));
    },
    aborted: () => line("event_msg", '"type":"turn_aborted","reason":"interrupted"'),
    compacted: () => line("compacted", '"message":"Another language model started to solve this problem."'),
  };
}

/** Today's version: items of their own for what was said and done. */
function itemPen(desk: Desk, version: string): Pen {
  const { plan, random, filler, result, tick } = desk;
  const line = lineWriter(desk, true);
  const thread = plan.sessionId;
  const item = (turn: string, ...parts: readonly (string | Buffer)[]): void =>
    line("event_msg", `"type":"item_completed","thread_id":"${thread}","turn_id":"${turn}","item":{`, ...parts, "}");
  const parent = random.uuid();
  const origin = plan.subAgent
    ? `"parent_thread_id":"${parent}","source":{"subagent":{"thread_spawn":{"parent_thread_id":"${parent}","depth":1}}},"thread_source":"subagent",`
    : '"source":"cli","thread_source":"user",';
  let turn = "";
  return {
    meta() {
      line(
        "session_meta",
        `"session_id":"${thread}","id":"${thread}","timestamp":"${tick()}","cwd":${quoted(plan.cwd)},"originator":"codex-tui","cli_version":"${version}",${origin}"base_instructions":{"text":"`,
        filler.take(random, Math.min(20_000, plan.sizeBytes / 5)),
        `"},"history_mode":"paginated","git":{"branch":${quoted(plan.branch)}}`,
      );
      line("response_item", message("user", environment(plan.cwd)));
    },
    prompt(words) {
      turn = random.uuid();
      line("event_msg", `"type":"task_started","turn_id":"${turn}","model_context_window":258400`);
      line(
        "world_state",
        `"full":true,"state":{"host_skills":{"body":"`,
        filler.take(random, Math.min(3_000, plan.sizeBytes / 10)),
        '"}}',
      );
      line(
        "turn_context",
        `"turn_id":"${turn}","cwd":${quoted(plan.cwd)},"approval_policy":"never","model":"gpt-6.1-sol","summary":"none"`,
      );
      line("response_item", message("user", quoted(words)));
      item(
        turn,
        `"type":"UserMessage","id":"${random.uuid()}","content":[{"type":"text","text":${quoted(words)},"text_elements":[]}]`,
      );
    },
    thinking: (words) =>
      item(turn, `"type":"Reasoning","id":"rs_${random.hex(16)}","summary_text":[${quoted(words)}],"raw_content":[]`),
    call(id) {
      const output = result();
      line("response_item", command(id));
      item(
        turn,
        `"type":"CommandExecution","id":"${id}","command":["/bin/bash","-lc","rg total${id.slice(-4)} src"],"cwd":${quoted(plan.cwd)},"status":"completed","aggregated_output":"`,
        output.length > 100_000 ? "" : output,
        '","exit_code":0',
      );
      line(
        "response_item",
        `"type":"function_call_output","call_id":"${id}","output":"Process exited with code 0\\nOutput:\\n`,
        output,
        '"',
      );
      line(
        "token_usage_record",
        `"thread_id":"${thread}","turn_id":"${turn}","response_id":"resp_${random.hex(16)}","usage":{"input_tokens":100,"cached_input_tokens":20,"output_tokens":10,"total_tokens":110}`,
      );
    },
    answer(words) {
      item(
        turn,
        `"type":"AgentMessage","id":"msg_${random.hex(16)}","content":[{"type":"Text","text":${quoted(words)}}]`,
      );
      line("response_item", message("assistant", quoted(words)));
      line("event_msg", `"type":"task_complete","turn_id":"${turn}","last_agent_message":${quoted(words)}`);
    },
    aborted: () => line("event_msg", `"type":"turn_aborted","turn_id":"${turn}","reason":"interrupted"`),
    compacted: () => line("compacted", '"message":"Another language model started to solve this problem."'),
  };
}
