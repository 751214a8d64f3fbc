// The tools that the model may call.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

export const toolNames = ["Bash", "Read", "Write", "Edit", "AskUserQuestion"];
const maxOutput = 30_000;

/** Whether the person is asked before. */
export function isAsked(name, mode) {
  if (name === "AskUserQuestion") return true;
  if (mode === "all" || !toolNames.includes(name) || name === "Read") return false;
  return mode === "ask" || name === "Bash";
}

export async function runTool(name, input, signal) {
  try {
    return { ok: true, text: await tools[name](input, signal) };
  } catch (error) {
    return { ok: false, text: tools[name] === undefined ? `No such tool available: ${name}` : error.message };
  }
}

const tools = {
  Bash: ({ command }, signal) =>
    new Promise((done, failed) => {
      let output = "";
      const child = spawn("/bin/sh", ["-c", command], { stdio: ["ignore", "pipe", "pipe"], detached: true });
      const stop = () => child.pid && process.kill(-child.pid, "SIGKILL");
      signal.addEventListener("abort", stop, { once: true });
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text) => (output = (output + text).slice(0, maxOutput)));
      child.on("error", failed).on("close", (code) => {
        signal.removeEventListener("abort", stop);
        if (code === 0) done(output.trimEnd());
        else failed(new Error(`Exit code ${code}\n${output.trimEnd()}`.trimEnd()));
      });
    }),
  Read: ({ file_path: path }) => readFileSync(resolve(path), "utf8"),
  Write({ file_path: path, content }) {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(resolve(path), content);
    return `File created successfully at: ${path}`;
  },
  Edit({ file_path: path, old_string: before, new_string: after }) {
    const text = readFileSync(resolve(path), "utf8");
    if (!text.includes(before)) throw new Error("String to replace not found in file.");
    writeFileSync(
      resolve(path),
      text.replace(before, () => after),
    );
    return `The file ${path} has been updated.`;
  },
  AskUserQuestion: ({ answers }) =>
    `User has answered your questions: ${Object.entries(answers ?? {})
      .map(([question, answer]) => `"${question}"="${answer}"`)
      .join(", ")}`,
};
