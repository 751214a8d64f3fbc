import { type Desk, quoted, type SessionTruth } from "./session.ts";
import { answerText, titleText } from "./words.ts";

const versions = ["1.0.64", "2.0.30", "2.1.197", "2.1.329"] as const;
const models = ["claude-opus-5-5", "claude-sonnet-4-5-20250929"] as const;
const tools = ["Bash", "Read", "Edit", "Grep", "Write"] as const;

/** All lines of a sub-agent are a side chain of its parent's session. */
const noConversation = { turnCount: 0, firstMessage: null, rareTurn: null };

/** Writes a transcript of Claude Code. */
export function writeClaudeSession(desk: Desk): SessionTruth {
  const pen = createPen(desk);
  const { random, out, plan } = desk;
  if (random.chance(0.3)) pen.title();
  if (pen.recent) pen.meta();
  for (let turn = 0; turn === 0 || !desk.full(); turn++) {
    if (turn > 0) betweenTurns(desk, pen);
    pen.prompt(desk.prompt());
    if (turn === 0 && pen.recent) pen.prelude();
    doTurn(desk, pen);
    if (turn === 0 && random.chance(0.25)) pen.title();
  }
  if (plan.halfLastLine) pen.torn();
  out.end();
  return plan.subAgent ? { ...desk.truth(), ...noConversation } : desk.truth();
}

type Pen = ReturnType<typeof createPen>;

function doTurn(desk: Desk, pen: Pen): void {
  const { random } = desk;
  if (random.chance(0.03)) return pen.failed(desk);
  if (random.chance(0.02)) return pen.interrupted();
  if (random.chance(0.4)) pen.thinking(desk.answer());
  const steps = random.between(0, 14);
  for (let step = 0; step < steps && !(step > 0 && desk.full()); step++) {
    if (random.chance(0.3)) pen.says(desk.answer(), "tool_use");
    desk.acted();
    pen.call(random.pick(tools));
    if (random.chance(0.01)) pen.queued(desk.prompt());
  }
  if (random.chance(0.03)) return pen.interrupted();
  if (random.chance(0.05)) pen.sideChain(answerText(random, desk.plan.language));
  pen.says(desk.answer(), "end_turn");
  pen.turnEnd();
}

/** What stands between two turns and is none. */
function betweenTurns(desk: Desk, pen: Pen): void {
  const { random } = desk;
  if (random.chance(0.03)) pen.localCommand();
  if (random.chance(0.02)) pen.compaction();
  if (random.chance(0.02)) pen.title();
  if (pen.recent && random.chance(0.5)) pen.meta();
}

function createPen({ plan, random, filler, out, tick, result, entitle }: Desk) {
  const version = random.pick(versions);
  const recent = version.startsWith("2.1");
  const model = random.pick(models);
  const tail = `,"userType":"external"${recent ? ',"entrypoint":"cli"' : ""},"cwd":${quoted(plan.cwd)},"sessionId":"${plan.sessionId}","version":"${version}","gitBranch":${quoted(plan.branch)}}`;
  const session = `"sessionId":"${plan.sessionId}"}`;
  const ownTitle: { custom: string | null } = { custom: null };
  let lines = 0;
  let parent = "null";

  /** `"uuid":…,"timestamp":…` of the next line. */
  function stamp(): string {
    const uuid = `${random.hex(8)}-${(lines++ & 0xffff).toString(16).padStart(4, "0")}-4000-8000-000000000000`;
    parent = `"${uuid}"`;
    return `"uuid":"${uuid}","timestamp":"${tick()}"`;
  }

  const head = (sideChain = plan.subAgent): string => `{"parentUuid":${parent},"isSidechain":${sideChain},`;

  function user(content: string | Buffer, more = ""): void {
    const before = `${head()}${recent ? `"promptId":"${plan.sessionId}",` : ""}"type":"user","message":{"role":"user","content":`;
    out.line(before, content, `},${stamp()}${more}`, tail);
  }

  function assistant(block: string, stop: string | null, sideChain = plan.subAgent): void {
    const usage = `{"input_tokens":${random.between(1, 900)},"cache_creation_input_tokens":0,"cache_read_input_tokens":${random.between(0, 90_000)},"output_tokens":${random.between(1, 2_000)},"service_tier":"standard"}`;
    const message = `"message":{"id":"msg_${random.hex(16)}","type":"message","role":"assistant","model":"${model}","content":[${block}],"stop_reason":${stop === null ? "null" : quoted(stop)},"stop_sequence":null,"usage":${usage}}`;
    const before = head(sideChain);
    if (recent) out.line(before, message, `,"type":"assistant",${stamp()},"effort":"medium","madeBy":"model"`, tail);
    else out.line(before, `"type":"assistant",`, message, `,${stamp()}`, tail);
  }

  const text = (words: string): string => `{"type":"text","text":${quoted(words)}}`;

  return {
    recent,
    prompt(words: string): void {
      const origin = recent ? ',"permissionMode":"default","origin":{"kind":"human"},"promptSource":"typed"' : "";
      if (random.chance(0.03)) {
        const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${random.hex(4_000)}"}}`;
        user(`[${text(words)},${image}]`, origin);
      } else user(random.chance(0.1) ? `[${text(words)}]` : quoted(words), origin);
    },
    /** Claude Code's own instructions, most of a short transcript of a recent version. */
    prelude(): void {
      const attachment = (type: string, key: string, share: number): void => {
        const size = Math.min(70_000 * share, plan.sizeBytes * 0.3 * share);
        out.line(
          `${head()}"attachment":{"type":"${type}","${key}":"`,
          filler.take(random, size),
          `"},"type":"attachment",${stamp()}`,
          tail,
        );
      };
      attachment("environment", "content", 0.02);
      attachment("agent_listing_delta", "content", 0.08);
      attachment("skill_listing", "content", 0.2);
      attachment("prompt_snapshot", "systemPrompt", 1);
      const shape = filler.take(random, Math.min(43_000, plan.sizeBytes * 0.2));
      out.line(
        `{"type":"api-request-shape",${session.slice(0, -1)},"timestamp":"${tick()}","shape":{"system":[{"type":"text","text":"`,
        shape,
        '"}]}}',
      );
    },
    meta(): void {
      out.line(`{"type":"mode","mode":"normal",${session}`);
      out.line(`{"type":"permission-mode","permissionMode":"default",${session}`);
      out.line(`{"type":"last-prompt","lastPrompt":"…","leafUuid":${parent},${session}`);
      out.line(
        `{"type":"file-history-snapshot","messageId":${parent},"snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false}`,
      );
    },
    title(): void {
      const words = titleText(random);
      if (!recent) {
        if (lines > 0) return; // the older versions write it in front of all else
        out.line(`{"type":"summary","summary":${quoted(words)},"leafUuid":"${random.uuid()}"}`);
        entitle(words);
      } else if (random.chance(0.3)) {
        out.line(`{"type":"custom-title","customTitle":${quoted(words)},${session}`);
        ownTitle.custom = words;
        entitle(words);
      } else {
        out.line(`{"type":"ai-title","aiTitle":${quoted(words)},${session}`);
        entitle(ownTitle.custom ?? words);
      }
    },
    thinking: (words: string): void =>
      assistant(`{"type":"thinking","thinking":${quoted(words)},"signature":"${random.hex(200)}"}`, "tool_use"),
    says: (words: string, stop: "tool_use" | "end_turn"): void => assistant(text(words), recent ? stop : null),
    call(tool: string): void {
      const id = `toolu_${random.hex(20)}`;
      const input =
        tool === "Bash"
          ? `{"command":"grep -rn total${random.hex(4)} src | head","description":"Look"}`
          : `{"file_path":${quoted(`${plan.cwd}/src/${random.hex(4)}.ts`)}}`;
      if (recent)
        out.line(
          `{"type":"api-request",${session.slice(0, -1)},"id":"${id}","timestamp":"${tick()}","params":{"model":"${model}","betas":"${random.hex(700)}"}}`,
        );
      assistant(`{"type":"tool_use","id":"${id}","name":"${tool}","input":${input}}`, "tool_use");
      const output = result();
      const failed = random.chance(0.08);
      const again =
        output.length > 100_000 ? ['{"type":"text"}'] : ['{"stdout":"', output, '","stderr":"","interrupted":false}'];
      out.line(
        `${head()}"type":"user","message":{"role":"user","content":[{"tool_use_id":"${id}","type":"tool_result","content":"`,
        output,
        `","is_error":${failed}}]},${stamp()},"toolUseResult":`,
        ...again,
        tail,
      );
    },
    queued(words: string): void {
      out.line(
        `{"type":"queue-operation","operation":"enqueue","timestamp":"${tick()}","content":${quoted(words)},${session}`,
      );
      out.line(
        `${head()}"attachment":{"type":"queued_command","prompt":${quoted(words)},"commandMode":"prompt"},"type":"attachment",${stamp()}`,
        tail,
      );
    },
    failed(desk: Desk): void {
      desk.acted();
      out.line(
        `${head()}"type":"assistant",${stamp()},"message":{"id":"${random.uuid()}","model":"<synthetic>","role":"assistant","stop_reason":"stop_sequence","type":"message","usage":{"input_tokens":0,"output_tokens":0},"content":[${text("API Error: 529 overloaded")}]},"error":"unknown","isApiErrorMessage":true`,
        tail,
      );
    },
    interrupted: (): void => user(`[${text("[Request interrupted by user]")}]`),
    sideChain(words: string): void {
      out.line(`${head(true)}"type":"user","message":{"role":"user","content":${quoted(words)}},${stamp()}`, tail);
      assistant(text(words), "end_turn", true);
    },
    turnEnd(): void {
      if (recent)
        out.line(
          `${head()}"type":"system","subtype":"turn_duration","durationMs":${random.between(900, 90_000)},${stamp()},"isMeta":false`,
          tail,
        );
    },
    localCommand(): void {
      user(
        quoted(
          "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>",
        ),
      );
      user(quoted("<local-command-stdout>Set model</local-command-stdout>"));
    },
    compaction(): void {
      out.line(
        `${head()}"type":"system","subtype":"compact_boundary","content":"Conversation compacted",${stamp()},"isMeta":false`,
        tail,
      );
      user(
        quoted("This session is being continued from a previous conversation that ran out of context."),
        ',"isCompactSummary":true,"isVisibleInTranscriptOnly":true',
      );
    },
    torn: (): void => out.raw(`${head()}"type":"user","message":{"role":"user","content":"half a li`),
  };
}
