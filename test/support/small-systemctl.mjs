#!/usr/bin/env node
// The part of `systemctl --user` that Postern uses, for one unit: it starts and stops what the unit file says, as systemd does with
// KillMode=process. Its state is next to the unit file.

import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [scope, verb] = process.argv.slice(2);
if (scope !== "--user") throw new Error("Only --user is known here.");
const folder = join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "systemd", "user");
const unitFile = join(folder, "postern.service");
const pidFile = join(folder, "pid");
const enabledFile = join(folder, "enabled");

/** @see systemd.syntax(7) */
function words(line) {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%"),
  );
}

function lines(name) {
  const all = readFileSync(unitFile, "utf8").split("\n");
  return all.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
}

function runningPid() {
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0;
  try {
    if (pid > 0) process.kill(pid, 0);
    return pid;
  } catch {
    return 0;
  }
}

function start() {
  if (runningPid() > 0) return;
  if (!lines("KillMode").includes("process")) throw new Error("Another KillMode is not known here.");
  const [program, ...args] = words(lines("ExecStart")[0]).map((word) => word.replaceAll("$$", "$"));
  const own = lines("Environment")
    .flatMap(words)
    .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]);
  const log = openSync(join(folder, "log"), "a");
  const child = spawn(program, args, {
    cwd: lines("WorkingDirectory")[0],
    env: { ...process.env, ...Object.fromEntries(own) },
    detached: true,
    stdio: ["ignore", log, log],
  });
  child.unref();
  writeFileSync(pidFile, String(child.pid));
}

async function stop() {
  const pid = runningPid();
  if (pid > 0) process.kill(pid, "SIGTERM");
  while (runningPid() > 0) await sleep(20);
  rmSync(pidFile, { force: true });
}

switch (verb) {
  case "show": {
    const pid = runningPid();
    console.log(`LoadState=${existsSync(unitFile) ? "loaded" : "not-found"}`);
    console.log(`UnitFileState=${existsSync(enabledFile) ? "enabled" : ""}`);
    console.log(`ActiveState=${pid > 0 ? "active" : "inactive"}\nMainPID=${pid}`);
    break;
  }
  case "daemon-reload":
    break;
  case "enable":
    writeFileSync(enabledFile, "");
    break;
  case "start":
    start();
    break;
  case "restart":
    await stop();
    start();
    break;
  case "disable":
    rmSync(enabledFile, { force: true });
    await stop();
    break;
  default:
    throw new Error(`${verb} is not known here.`);
}
