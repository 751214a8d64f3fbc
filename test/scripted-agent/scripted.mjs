#!/usr/bin/env node
// The scripted agent: see the README of this folder. Plain JavaScript and few imports, so that it starts in the time of Node itself.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createConversation } from "./conversation.mjs";
import { createScreen } from "./screen.mjs";
import { createSession } from "./session.mjs";

const options = readArguments(process.argv.slice(2));
if (options.version) {
  process.stdout.write("1.0.0 (scripted agent)\n");
  process.exit(0);
}
const stateDir = process.env.SCRIPTED_HOME ?? join(process.env.HOME ?? "/", ".scripted");
const start = readStart(join(stateDir, "start.json"));
if (start.exit !== undefined) {
  process.stdout.write(start.says ?? "");
  process.exit(start.exit);
}
if (start.delayMs) await new Promise((resolve) => setTimeout(resolve, start.delayMs));

const session = createSession({ stateDir, id: options.session, resumes: options.resumes });
const screen = createScreen();
const conversation = createConversation({ session, screen, options });

function end(code, reason) {
  session.report("SessionEnd", { reason });
  session.close();
  screen.close();
  process.exit(code);
}
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => end(0, "other"));

screen.listen({
  submit(text) {
    if (text === "/exit" || text === "exit") end(0, "prompt_input_exit");
    else if (text === "/clear") {
      session.report("SessionEnd", { reason: "clear" });
      session.begin();
      conversation.forget();
      session.report("SessionStart", { source: "clear" });
    } else if (/^\/\w/.test(text)) screen.print(`Unknown command: ${text}`);
    else void conversation.prompt(text);
  },
  interrupt: () => conversation.interrupt(),
});
if (start.dialog !== undefined) {
  const chosen = await screen.choose({ text: ` ${start.dialog}`, choices: ["Yes, go on", "No, leave"] });
  if (chosen !== 0) end(1, "other");
}
screen.ready();
session.status("idle");
session.report("SessionStart", { source: options.resumes ? "resume" : "startup" });
if (options.prompt !== null) void conversation.prompt(options.prompt);

function readArguments(argv) {
  const read = { session: null, resumes: false, mode: "ask", model: "scripted-1", systemPrompt: "", prompt: null };
  const takes = {
    "--session": (value) => (read.session = value),
    "--resume": (value) => ((read.session = value), (read.resumes = true)),
    "--mode": (value) => (read.mode = value),
    "--model": (value) => (read.model = value),
    "--system-prompt-file": (value) => (read.systemPrompt = readFileSync(value, "utf8")),
    "--": (value) => (read.prompt = value),
  };
  if (argv[0] === "--version") return { ...read, version: true };
  for (let at = 0; at < argv.length; at += 2) {
    const take = takes[argv[at]];
    if (take === undefined) throw new Error(`unknown argument ${argv[at]}`);
    take(argv[at + 1] ?? "");
  }
  return read;
}

/** How the next start goes: `{ "delayMs": 500, "exit": 3, "dialog": "Do you trust this folder?" }`. */
function readStart(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}
