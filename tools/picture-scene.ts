import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Conversation, Reply } from "../test/model-server/conversation.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../test/support/gateway.ts";

/** A gateway with both real agents, a small project, and a scripted model for the prompts of the pictures. */
export interface PictureScene {
  readonly world: World;
  readonly gateway: TestGateway;
  /** The project's folder. */
  readonly project: string;
  close(): Promise<void>;
}

const imports = `import { setTimeout as sleep } from "node:timers/promises";

`;

const before = `export async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  return answer?.ok === true;
}
`;

const after = `/** Tries three times, a second apart. */
export async function isHealthy(url: string): Promise<boolean> {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok === true) return true;
    await sleep(1_000);
  }
  return false;
}
`;

/** The prompts in the pictures. */
export const prompts = {
  change: "The health check gives up after one try. Let it try three times.",
  question: "And how long does it take until it gives up?",
  summary: "What does this repository do?",
  file: "Which file asks the servers?",
} as const;

/** The scripted model's answers to the prompts in the pictures. */
function replyIn(project: string): (conversation: Conversation) => Reply | null {
  const file = join(project, "src", "health.ts");
  const call = (tool: string, input: Readonly<Record<string, unknown>>): Reply => ({
    kind: "tool",
    thinking: null,
    step: { kind: "call", tool, input },
  });
  const text = (words: string): Reply => ({ kind: "text", thinking: null, text: words, slowMs: 0 });
  const parts: Readonly<Record<string, readonly Reply[]>> = {
    [prompts.change]: [
      call("Read", { file_path: file }),
      call("Edit", { file_path: file, old_string: before, new_string: after }),
      text("`isHealthy` tries three times now, a second apart, and says `false` only after the third."),
    ],
    [prompts.question]: [
      text("Three seconds when nothing answers at all, plus whatever `fetch` waits for a connection."),
    ],
    [prompts.summary]: [
      text("It watches a list of servers and says which of them do not answer. `src/health.ts` asks them."),
    ],
    [prompts.file]: [text("That is `src/health.ts`, with `fetch`.")],
  };
  return ({ kind, prompt, outcomes }) => {
    const part = kind === "turn" ? parts[prompt.trim()] : undefined;
    return part?.[Math.min(outcomes.length, part.length - 1)] ?? null;
  };
}

/** @param say gets a sentence before each slow step */
export async function openScene(): Promise<PictureScene> {
  let reply: (conversation: Conversation) => Reply | null = () => null;
  const world = await createWorld({ agents: true, reply: (conversation) => reply(conversation) });
  try {
    const project = join(world.root, "code", "lighthouse");
    reply = replyIn(project);
    await makeProject(project);
    const gateway = await startGateway(world);
    return {
      world,
      gateway,
      project,
      async close() {
        await gateway.close();
        await world.close();
      },
    };
  } catch (error) {
    await world.close();
    throw error;
  }
}

async function makeProject(folder: string): Promise<void> {
  await mkdir(join(folder, "src"), { recursive: true });
  await writeFile(join(folder, "README.md"), "# Lighthouse\n\nWatches whether servers answer.\n");
  await writeFile(join(folder, "src", "health.ts"), imports + before);
  const git = (...args: readonly string[]): Promise<unknown> =>
    promisify(execFile)("git", ["-C", folder, "-c", "user.name=Example", "-c", "user.email=mail@example.org", ...args]);
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", ".");
  await git("commit", "--quiet", "--message=Begin");
}
