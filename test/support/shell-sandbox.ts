import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { makeTempFolder } from "./temp-folder.ts";

/** Programs that exist in the sandbox. Each only records how it was called. */
export const shimNames: readonly string[] =
  "git npm ls rg id touch tee sh bash zsh more less cat pager vi env rm a b status x=1 deploy-1 run.sh c++ g@h".split(
    " ",
  );

/** Shells as they start, and with options that change how they read words. */
export const shells = {
  bash: ["bash", "--norc", "--noprofile"],
  zsh: ["zsh", "-f"],
  dash: ["dash"],
  "bash with options": "bash --norc --noprofile -O extglob -O nullglob -O dotglob -O globstar -O nocaseglob".split(" "),
  "bash like POSIX": "bash --norc --noprofile --posix -O failglob".split(" "),
  "zsh with options": (
    "zsh -f -o rcquotes -o extendedglob -o kshglob -o magicequalsubst -o braceccl -o cshnullglob -o globstarshort -o shwordsplit " +
    "-o interactivecomments -o autocd -o pathdirs -o globsubst -o cbases -o octalzeroes"
  ).split(" "),
} as const;
export type ShellName = keyof typeof shells;

/** What a line did. */
export interface LineReport {
  /** The program, its working directory, its arguments. */
  readonly calls: readonly (readonly string[])[];
  /** Files that lines of the same run made, removed or changed. */
  readonly changed: readonly string[];
  readonly output: string;
}

/** Records the number of arguments, the program, the working directory and the arguments, each ended by a NUL, with one write. */
const shim = `#!/bin/sh
printf '%s\\0' "$#" "\${0##*/}" "$PWD" "$@" >>/trace/calls
exit "$SHIM_EXIT"
`;
const mark = "\u001e";

/** A script for the shell that is tried. With `eval`, programs are functions: the same reading, without a process for each call. */
function scriptOf(
  lines: readonly TriedLine[],
  { way, command }: { readonly way: Way; readonly command: string },
): string {
  const names = way === "eval" ? shimNames.filter((name) => /^[a-z]+$/.test(name)) : [];
  const functions = names.map(
    (name) => `${name}() { printf '%s\\0' "$#" ${name} "$PWD" "$@" >>/trace/calls; return "$SHIM_EXIT"; }`,
  );
  const runs = lines.flatMap(({ line, exit }, index) => [
    `SHIM_EXIT=${exit}; printf '%s\\0' 0 '=line=' ${index} >>/trace/calls; printf '${mark}' >>/trace/output`,
    `${way === "eval" ? "eval" : `${command} -c`} ${quoted(line)} >>/trace/output 2>&1 </dev/null`,
  ]);
  return [
    "export SHIM_EXIT",
    ...functions,
    "echo /dev/* >/trace/devices",
    ...runs,
    "echo /dev/* >>/trace/devices",
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

function callsIn(log: string): readonly (readonly string[])[] {
  const fields = log.split("\0");
  const calls: string[][] = [];
  for (let at = 0; at + 2 < fields.length; ) {
    const end = at + 3 + Number(fields[at]);
    calls.push(fields.slice(at + 1, end));
    at = end;
  }
  return calls;
}

/** The machine's programs, read-only; everything else is empty. Nothing of the machine can be written. */
function sandboxArgs(): readonly string[] {
  const system = ["bin", "lib", "lib32", "lib64", "sbin", "nix", "etc/alternatives"].flatMap((name) => {
    const stats = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    return stats.isSymbolicLink()
      ? ["--symlink", readlinkSync(`/${name}`), `/${name}`]
      : ["--ro-bind", `/${name}`, `/${name}`];
  });
  return [
    "--unshare-all",
    "--die-with-parent",
    "--clearenv",
    "--ro-bind",
    "/usr",
    "/usr",
    ...system,
    "--dev",
    "/dev",
    "--proc",
    "/proc",
  ];
}

/** Why lines cannot be tried here; null if they can. */
export function sandboxProblem(): string | null {
  const { status, error, stderr } = spawnSync("bwrap", [...sandboxArgs(), "/bin/sh", "-c", ":"], { encoding: "utf8" });
  if (error !== undefined) return "bwrap is not installed";
  return status === 0 ? null : `bwrap cannot make a sandbox: ${stderr.trim().split("\n")[0]}`;
}

/** Where a shell is below `/usr` or `/bin`; null if it is not installed there. */
export function shellPath(name: ShellName): string | null {
  const folders = [
    "/usr/bin",
    "/bin",
    ...(process.env["PATH"] ?? "").split(delimiter).filter((dir) => dir.startsWith("/usr/")),
  ];
  const found = folders
    .map((dir) => join(dir, shells[name][0]))
    .find((path) => lstatSync(path, { throwIfNoEntry: false }));
  return found ?? null;
}

/** `eval`: as Claude Code does, in one process. `process`: as Codex does, in a shell and with programs of its own. */
export type Way = "eval" | "process";
export interface TriedLine {
  readonly line: string;
  /** What every program exits with. */
  readonly exit: 0 | 1;
}

const bait = ["a1", "b2", "status", "x=1", "src/c3"];

/** Runs lines in a sandbox in which programs only record how they are called. A run that changes files is repeated in halves. */
export async function tryLines(name: ShellName, way: Way, lines: readonly TriedLine[]): Promise<readonly LineReport[]> {
  const reports = await tryOnce(name, way, lines);
  if (lines.length < 2 || reports.every(({ changed }) => changed.length === 0)) return reports;
  const half = lines.length >> 1;
  return [...(await tryLines(name, way, lines.slice(0, half))), ...(await tryLines(name, way, lines.slice(half)))];
}

async function tryOnce(name: ShellName, way: Way, lines: readonly TriedLine[]): Promise<readonly LineReport[]> {
  const path = shellPath(name);
  if (path === null) throw new Error(`${name} is not installed.`);
  const folder = await makeTempFolder();
  const at = (below: string) => join(folder, below);
  for (const below of ["job", "shims", "trace", "files/code/app/src", "files/home", "files/tmp"]) {
    mkdirSync(at(below), { recursive: true });
  }
  for (const below of bait) writeFileSync(at(`files/code/app/${below}`), "");
  const options = shells[name].slice(1);
  writeFileSync(at("job/script"), scriptOf(lines, { way, command: [path, ...options].join(" ") }));
  writeFileSync(at("shims/.shim"), shim);
  chmodSync(at("shims/.shim"), 0o755);
  for (const one of shimNames) symlinkSync(".shim", at(`shims/${one}`));
  const binds = [
    ...["--ro-bind", at("job"), "/job", "--ro-bind", at("shims"), "/shims", "--bind", at("trace"), "/trace"],
    ...["code", "home", "tmp"].flatMap((one) => ["--bind", at(`files/${one}`), `/${one}`]),
    ...["--setenv", "PATH", "/shims", "--setenv", "HOME", "/home", "--setenv", "LC_ALL", "C.UTF-8"],
    ...["--remount-ro", "/", "--chdir", "/code/app"],
  ];
  const before = filesIn(at("files"));
  const shell = [path, ...options, "/job/script"];
  const child = spawn("bwrap", [...sandboxArgs(), ...binds, ...shell], { stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const after = filesIn(at("files"));
  const [devices, devicesAfter] = readFileSync(at("trace/devices"), "utf8").split("\n");
  const changed = [
    ...after.filter((one) => !before.includes(one)),
    ...before.filter((one) => !after.includes(one)),
    ...(devices === devicesAfter ? [] : [`/dev: ${devicesAfter}`]),
    ...(output + errors === "" ? [] : [`the script: ${output}${errors}`]),
  ];
  const outputs = readFileSync(at("trace/output"), "utf8").split(mark).slice(1);
  const calls: (readonly string[])[][] = [];
  for (const call of callsIn(readFileSync(at("trace/calls"), "utf8"))) {
    if (call[0] === "=line=") calls.push([]);
    else calls.at(-1)?.push(call);
  }
  return lines.map((_, index) => ({ calls: calls[index] ?? [], output: outputs[index] ?? "no report", changed }));
}

/** Paths below a folder, with the sizes of files. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((below) => {
    const stats = lstatSync(join(folder, below));
    return `/${below} ${stats.isFile() ? stats.size : ""}`;
  });
}
