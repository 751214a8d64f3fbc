import { shimNames } from "./shell-sandbox.ts";

/** Words that an evaluator may take for plain ones. */
const words = [
  ..."status --short -m HEAD x=1 --f=v a@b src/x.ts ./x 1 22 100% +x a:b a,b -- - -1 -n5 x.y _z %1 :x @ + % : , . .. = "
    .trim()
    .split(" "),
  ..."a==id x=a:=id --f==id a=:b a:=id x@id a+=b 1-9 +1 -1-2 then done in do fi time".split(" "),
  ...[
    "'a b'",
    '"c d"',
    "'$HOME'",
    "'`id`'",
    `"it's"`,
    `'say "x"'`,
    "'*'",
    '"*"',
    "'~'",
    '"~/x"',
    "'\\'",
    "'#x'",
    "'{a,b}'",
    "''",
    '""',
  ],
  ...[
    "--f='x y'",
    "'=id'",
    '"=id"',
    `a"b"'c'`,
    "'é'",
    '"日本"',
    "'🙂'",
    "'\u00a0'",
    "x'\u2003'",
    "'a;b'",
    '"a|b"',
    "'a&&b'",
    '"a>b"',
    "';'",
  ],
  ...[
    "'!x'",
    "'$(id)'",
    '"("',
    "'<(id)'",
    "a'='b",
    "'x'=1",
    "''x",
    "x''",
    `""x`,
    `''""`,
    "'a'''",
    "'a''b'",
    '"a""b"',
    "'[a]'",
    "'^x'",
    "'%s'",
  ],
];
const programs = [
  // Functions in the sandbox: these cost no process.
  ...Array.from({ length: 6 }, () => [
    "git",
    "npm",
    "ls",
    "rg",
    "id",
    "touch",
    "a",
    "b",
    "'git'",
    '"ls"',
    "g'it'",
    "status",
    "rm",
    "tee",
  ]).flat(),
  ...[
    "git",
    "npm",
    "ls",
    "rg",
    "id",
    "touch",
    "a",
    "b",
    "'git'",
    '"ls"',
    "g'it'",
    "/shims/git",
    "deploy-1",
    "run.sh",
    "c++",
    "g@h",
  ],
  ...[
    "git",
    "git",
    "ls",
    "echo",
    "true",
    "false",
    "pwd",
    ":",
    "'x=1'",
    "x'='1",
    "status",
    "nothere",
    "./x",
    ".",
    "..",
    "src/c3",
    "1",
    "''",
    "-",
    "--",
  ],
];
const joints = [" && ", "; ", " || ", " && ", "; ", " || ", "&&", ";", "||", "  &&  ", " ;", " ; ", "|", " | "];

/** Pieces that shells do something with, or read differently. */
const nasty = [
  ...[
    ">new",
    "> new",
    ">>new",
    "<a1",
    "2>new",
    "&>new",
    ">&new",
    ">|new",
    "<>new",
    "2&>/dev/null",
    "&>/dev/null",
    ">/dev/null",
    "2>/dev/null",
  ],
  ...[
    "1>/dev/null",
    "2>&1",
    "1>&2",
    ">&2",
    "2>&-",
    ">/dev/nullx",
    ">/dev/null/x",
    "2> /dev/null",
    "3>/dev/null",
    "12>/dev/null",
    ">>/dev/null",
  ],
  ...[
    "; >/dev/null",
    ";>/dev/null",
    "&& >/dev/null",
    ">/dev/null;",
    "<<x",
    "<<<x",
    "<(id)",
    ">(id)",
    "=(id)",
    "{fd}>new",
    ">'new'",
    "2>'/dev/null'",
  ],
  ...[
    "|&",
    ";;",
    ";&",
    ";|",
    "&",
    "&|",
    "&!",
    "& ",
    "|||",
    "&&&",
    "||&",
    "; ;",
    "&& &&",
    "| |",
    "\n",
    "\r",
    "\t",
    "\v",
    "\f",
    "\b",
    "\u007f",
    "\u001b",
  ],
  ...[
    "$'id'",
    "$'\\x69d'",
    '$"x"',
    "$HOME",
    "${HOME}",
    "$(id)",
    "`id`",
    "$((1+1))",
    "$[1+1]",
    "$",
    "$$",
    "$?",
    "$!",
    "$0",
    "$_",
    '"$HOME"',
    '"`id`"',
  ],
  ...["!", "! ", "!!", "!x", "^a^b", "=id", "==id", "=", "~", "~/x", "~root", "~+", "~-", "x=~", "x:~", "--f=~/x"],
  ...[
    "*",
    "?1",
    "[ab]*",
    "[!a]*",
    "**/*",
    "a*",
    "*(e:id:)",
    "*(.)",
    "*(#qe:id:)",
    "a1(e:'id':)",
    "^a1",
    "a1~b2",
    "a#",
    "(a1|b2)",
    "@(a1)",
    "<1-9>",
  ],
  ...[
    "{a,b}",
    "{1..3}",
    "{a1}",
    "x{,y}",
    "{",
    "}",
    "{ id; }",
    "(id)",
    "()",
    "( )",
    "((1))",
    "[[",
    "]]",
    "[",
    "[ x ]",
    "[[ -f a1 ]]",
    "((",
    "))",
  ],
  ...[
    "\\",
    "\\\n",
    "a\\ b",
    "\\;",
    "\\id",
    "i\\d",
    "'\\''",
    '"\\""',
    '"\\n"',
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\u200b",
    "\u2003",
  ],
  ...[
    "eval id",
    "source a1",
    ". a1",
    "exec id",
    "command id",
    "builtin echo x",
    "trap id EXIT",
    "let x=1",
    "read x",
    "unset x",
    "printf -v x y",
  ],
  ...[
    "test -v x",
    "declare x=1",
    "export x=1",
    "local x",
    "alias git=id",
    "alias git=id; git",
    "git() { id; }",
    "function git { id; }",
    "git() id",
  ],
  ...[
    "x=1",
    "x+=1",
    "x[1]=2",
    "x=1 git",
    "PATH=/x git",
    "if true; then id; fi",
    "while false; do id; done",
    "for x in a; do id; done",
    "for x (a) id",
  ],
  ...[
    "case a in a) id;; esac",
    "select x in a; do id; done",
    "repeat 2 id",
    "time id",
    "coproc id",
    "noglob id",
    "nocorrect id",
    "- id",
    "env id",
  ],
  ...[
    "find . -exec id",
    "sort --compress-program=id",
    "xargs id",
    "sh -c id",
    "cd src",
    "cd /code/app && git",
    "pushd src",
    "set -x",
    "shopt -s extglob",
  ],
  ...[
    "setopt extendedglob",
    "hash git=/shims/id",
    "enable -n echo",
    "zmodload zsh/system",
    "fc -l",
    "%1",
    "fg",
    "bg",
    "jobs",
    "wait",
    "exit",
    "return",
  ],
  ...[
    "''",
    '""',
    "'",
    '"',
    "'a",
    '"a',
    "#",
    "# x",
    "#x",
    " #",
    "''''",
    '""""',
    "'a''b'",
    `"a"'b'`,
    "a;",
    ";a",
    "|a",
    "a|",
    "&&",
    "||",
    "--",
    "-",
  ],
];

const strange = "\t\n\r \"'\\`$!#%&()*+,-./0123:;<=>?@[]^_{|}~aeinx\u00a0\u0085é\u2028\u200b";

/** The same sequence for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Different command lines: plain ones, ones with pieces that shells act on, and ones with single characters changed. */
export function commandLines(count: number, seed: number): readonly string[] {
  const below = numbersFrom(seed);
  const pick = (list: readonly string[]): string => list[below(list.length)] ?? "";
  const command = (): string => [pick(programs), ...Array.from({ length: below(4) }, () => pick(words))].join(" ");

  function plain(): string {
    let line = command();
    for (let more = below(4); more > 0; more -= 1) line += pick(joints) + command();
    if (below(6) === 0)
      line += pick([" 2>&1", " >/dev/null", " 2>/dev/null", " >/dev/null 2>&1", ";", " ", " 1>/dev/null"]);
    return line;
  }

  function placed(line: string): string {
    const piece = pick(nasty);
    const gaps = [...line.matchAll(/ /g)].map(({ index }) => index);
    const at = [0, line.length, gaps[below(gaps.length + 1)] ?? 0, below(line.length + 1)][below(4)] ?? 0;
    const [left, right] = [pick(["", " "]), pick(["", " "])];
    return line.slice(0, at) + left + piece + right + line.slice(at);
  }

  function changed(line: string): string {
    const at = below(line.length + 1);
    const chars = Array.from(strange);
    const char = chars[below(chars.length)] ?? "";
    return line.slice(0, at) + pick([char, "", char + char]) + line.slice(at + below(2));
  }

  const lines = new Set<string>();
  while (lines.size < count) {
    let line = plain();
    const kind = below(10);
    if (kind >= 3 && kind < 7) line = placed(line);
    if (kind === 6) line = placed(line);
    if (kind >= 7) for (let times = 1 + below(3); times > 0; times -= 1) line = changed(line);
    lines.add(line);
  }
  return [...lines];
}

export function isShim(program: string): boolean {
  return shimNames.includes(program.replace(/^\/shims\//, ""));
}
