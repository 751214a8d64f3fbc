import type { SimpleCommand } from "./command-line.ts";

/** The name of a program without its folder. */
export function programName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1).toLowerCase();
}

/** Programs that run code from their arguments or input. */
const runsAnything: ReadonlySet<string> = new Set(
  (
    "sh bash zsh dash ash ksh mksh fish csh tcsh rbash busybox toybox pwsh powershell cmd nu elvish xonsh " +
    "python python2 python3 pypy pypy3 ipython node nodejs deno bun perl ruby irb lua luajit php r rscript julia tclsh wish expect guile " +
    "scheme racket clojure groovy scala jshell java kotlin swift osascript gdb lldb ocaml ghci runghc erl elixir iex awk gawk mawk nawk " +
    "ex vi vim nvim emacs ed sqlite3 psql mysql duckdb bc dc m4 " +
    "env xargs parallel sudo doas su runuser pkexec ssh scp sftp rsync mosh nohup nice ionice setsid stdbuf timeout time chroot unshare " +
    "nsenter bwrap firejail flatpak snap systemd-run at batch crontab watch entr script screen tmux strace ltrace perf valgrind taskset " +
    "chrt flock setarch linux32 linux64 setpriv capsh daemonize start-stop-daemon dbus-run-session xvfb-run socat nc ncat netcat telnet " +
    "npx pnpx bunx uvx pipx tsx ts-node make gmake cmake ninja just task rake gradle gradlew mvn mvnw ant bazel buck scons meson ansible " +
    "ansible-playbook terraform tofu pulumi vagrant packer nix nix-shell nix-build direnv mise asdf act find fd sed chmod chown dd tee " +
    "install curl wget eval exec source view vimdiff rvim gvim nano unbuffer autossh sshpass chpst run-parts logrotate watchexec nodemon " +
    "concurrently turbo nx lerna sbt lein stack cabal zig pandoc gnuplot octave gs lxc incus ip rpm dpkg ftp tftp redis-cli mongo mongosh " +
    "gdbus busctl xdg-open open latex pdflatex xelatex lualatex tar bsdtar unzip 7z 7za cpio pax patch"
  ).split(" "),
);

/** Programs whose first argument selects the action, so that the program alone would cover too much. */
const hasSubcommands: ReadonlySet<string> = new Set(
  (
    "git npm pnpm yarn pip pip3 uv poetry conda cargo go docker podman docker-compose kubectl helm gh glab aws gcloud az apt apt-get dnf " +
    "yum brew apk pacman systemctl launchctl service gem bundle composer dotnet rustup svn hg jj heroku fly vercel netlify firebase"
  ).split(" "),
);

/** Subcommands that run code from elsewhere, or scripts whose names follow. */
const broadSubcommands: Readonly<Record<string, string>> = {
  git: "alias clone apply am send-email instaweb web--browse for-each-repo hook p4 svn update-index maintenance bisect config filter-branch rebase submodule difftool mergetool daemon",
  npm: "install i add ci init create exec x run run-script explore link rebuild",
  pnpm: "install i add dlx exec create run rebuild",
  yarn: "install add dlx exec create run node",
  pip: "install download wheel",
  pip3: "install download wheel",
  uv: "run pip add sync tool",
  poetry: "run install add shell",
  conda: "run install create",
  cargo: "install run",
  go: "run install generate get tool",
  docker: "run build exec compose buildx create cp",
  podman: "run build exec compose create cp",
  "docker-compose": "run up exec build",
  kubectl: "exec run apply cp debug",
  helm: "install upgrade",
  gh: "extension alias api codespace",
  apt: "install",
  "apt-get": "install",
  dnf: "install",
  yum: "install",
  brew: "install",
  apk: "add",
  gem: "install exec",
  bundle: "exec install",
  composer: "run run-script exec install require",
  dotnet: "run exec tool",
};

/** After one of these, the next word is the name of a fixed script, as in `npm run build`. */
const namesScript: ReadonlySet<string> = new Set(["npm run", "npm run-script", "pnpm run", "yarn run", "composer run"]);

/** Why a command pattern must be confirmed by repeating it; null if it need not be. */
export function commandBreadth(words: readonly string[]): string | null {
  const [program, subcommand, script] = words;
  if (program === undefined || program === "*") return "It covers every command.";
  const name = programName(program);
  if (runsAnything.has(name) || /^(python|pypy|perl|ruby|node|lua|php)[0-9.]+$/.test(name)) {
    return `\`${name}\` can run any other program, or change any file.`;
  }
  if (!hasSubcommands.has(name)) return null;
  if (subcommand === undefined || subcommand.startsWith("-")) {
    return `\`${words.join(" ")}\` covers every command of \`${name}\`.`;
  }
  if (!(broadSubcommands[name] ?? "").split(" ").includes(subcommand)) return null;
  if (namesScript.has(`${name} ${subcommand}`) && script !== undefined && !script.startsWith("-")) return null;
  return `\`${name} ${subcommand}\` can run arbitrary code.`;
}

/** The number of a command's words in a proposed rule: the program and its subcommand, or all. */
export function proposedLength(command: SimpleCommand): number {
  const [program, subcommand = "", script = ""] = command;
  const name = programName(program);
  if (!hasSubcommands.has(name) || !/^[a-z][\w:-]*$/i.test(subcommand)) return command.length;
  if (commandBreadth([program, subcommand]) === null) return 2;
  return commandBreadth([program, subcommand, script]) === null ? 3 : command.length;
}

/**
 * Options that run a program, read code, or write a file although this is not the program's purpose; by program. A command does not match a rule if
 * one of these is among the words that the rule leaves open. An entry with one hyphen also counts in a group (`-xO`), and with a value
 * attached (`-Ofile`).
 */
const riskyOptions: Readonly<Record<string, string>> = {
  git:
    "-c --config-env --exec-path --git-dir --work-tree --namespace --super-prefix --upload-pack --receive-pack --exec -u -O " +
    "--open-files-in-pager --ext-diff --textconv --output -o --template --to-command --pager -p --paginate --no-verify -n --edit-description " +
    "--file -F --pathspec-from-file --strategy -s --gpg-sign -S --interactive -i --patch --separate-git-dir --reference -C --index-pack " +
    "--run --trailer --cleanup --editor",
  rg: "--pre --pre-glob --hostname-bin -z --search-zip --file -f --ignore-file",
  grep: "-f --file",
  find: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
  fd: "-x -X --exec --exec-batch",
  sort: "--compress-program -o --output -T --temporary-directory --files0-from -S",
  tar: "--to-command -I --use-compress-program --checkpoint-action --rsh-command --info-script -F --new-volume-script --absolute-names -P -C --directory",
  sed: "-i --in-place -e --expression -f --file -s -n -E -r",
  awk: "-f --file -i -e -E -l",
  diff: "--from-file --to-file -o --output",
  tail: "-f -F --follow --pid",
  less: "-o -O -k --log-file --lesskey-file --lesskey-src --lesskey-content --tag-file",
  man: "-P --pager -H --html -C",
  npm:
    "--script-shell --prefix -C --userconfig --globalconfig --node-options --exec --ignore-scripts -g --global --location --git " +
    "--viewer --browser --shell --call -c --init-module",
  pnpm: "--script-shell --dir -C --prefix --node-options",
  yarn: "--cwd --script-shell --use-yarnrc --node-options",
  cargo: "--config --manifest-path -Z --target-dir -C",
  go: "-exec -toolexec -C -overlay -modfile -o -vettool",
  docker: "-H --host --config -c --context",
  kubectl: "--kubeconfig --server -s --as",
  gh: "--hostname",
  jq: "-f --from-file -L --slurpfile --rawfile",
  zip: "-T -TT --unzip-command",
  rsync: "-e --rsh --rsync-path",
  split: "--filter",
  gcc: "-wrapper -specs -fplugin -B",
  cc: "-wrapper -specs -fplugin -B",
  "g++": "-wrapper -specs -fplugin -B",
  clang: "-fplugin -Xclang -B",
  ctags: "--options",
  file: "-C --compile -m --magic-file",
  svn: "--diff-cmd --diff3-cmd --merge-cmd --editor-cmd --config-option --config-dir",
  hg: "--config -R --repository --cwd",
  mocha: "-r --require --config --loader",
  yq: "-i --inplace --from-file",
  ls: "",
  pytest: "-p --rootdir -c --pdbcls --override-ini -o --import-mode --confcutdir",
  jest: "--config -c --globalSetup --setupFiles --runner --testRunner",
  vitest: "--config -c --root",
  eslint:
    "-c --config --rulesdir --plugin --resolve-plugins-relative-to --parser -f --format -o --output-file --fix-to",
  prettier: "--plugin --config",
  tsc: "--plugins --outDir --outFile --project -p",
  php: "",
};

/** Options that do the same in most programs. */
const riskyEverywhere: readonly string[] = ["--exec", "--pager", "--editor", "--shell", "--rsh", "--eval", "--command"];

/**
 * Whether a word that is not in the rule can change what the program does: make it run another program, read its settings from elsewhere,
 * or write where it should not.
 */
export function isRiskyWord(program: string, word: string): boolean {
  const name = programName(program);
  // `less +!id` starts with a command.
  if (word.startsWith("+") && (name === "less" || name === "more")) return true;
  if (!word.startsWith("-") || word === "-" || word === "--") return false;
  const known = (riskyOptions[name] ?? "").split(" ").filter((option) => option !== "");
  return [...known, ...riskyEverywhere].some((option) => isOption(word, option));
}

function isOption(word: string, option: string): boolean {
  if (word === option || word.startsWith(`${option}=`)) return true;
  if (option.startsWith("--")) {
    // Most programs accept an unambiguous abbreviation of a long option, even a single letter.
    const name = word.split("=")[0] ?? word;
    return name.startsWith("--") && option.startsWith(name);
  }
  // Go's programs accept `--toolexec` for `-toolexec`.
  if (word.startsWith("--")) return option.length > 2 && isOption(word.slice(1), option);
  // `-exec` of find, or a letter in a group: `-zO`, `-Ofile`.
  return option.length === 2 && word.slice(1).includes(option.slice(1));
}
