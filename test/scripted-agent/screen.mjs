// Paints what was said, and below it the composer or a dialog; reads keys and bracketed pastes.
const sign = "❯ ";
const maxComposerRows = 10;
const longestShownPaste = 200;
const keys = /^(?:\x1b\[200~([\s\S]*?)\x1b\[201~|\x1b\[[ABCD]|\x1b\[[0-9;?]*[a-zA-Z~]|\x1bO.|[\s\S])/u;

export function createScreen() {
  const { stdout, stdin } = process;
  /** What is typed: characters and whole pastes. */
  let typed = [];
  /** What takes the composer's place. */
  let dialog = null;
  let isReady = false;
  let hint = "";
  let pending = "";
  /** Rows of the footer above the cursor. */
  let above = 0;
  let listener = { submit: () => undefined, interrupt: () => undefined };

  function paint(output = "") {
    const back = `\r${above > 0 ? `\x1b[${above}A` : ""}\x1b[J`;
    const lines = footer();
    const cursorRow = dialog === null && isReady ? lines.length - 3 : lines.length - 1;
    const up = lines.length - 1 - cursorRow;
    const column = [...(lines[cursorRow] ?? "")].length;
    above = cursorRow;
    const place = `${up > 0 ? `\x1b[${up}A` : ""}\r${column > 0 ? `\x1b[${column}C` : ""}`;
    stdout.write(`${back}${output.replaceAll("\n", "\r\n")}\x1b[?7l${lines.join("\r\n")}\x1b[?7h${place}`);
  }

  function footer() {
    const rule = "─".repeat(Math.max(10, (stdout.columns ?? 80) - 1));
    if (dialog !== null) {
      const choices = dialog.choices.map((label, at) => `${at === dialog.selected ? " ❯" : "  "} ${at + 1}. ${label}`);
      return [rule, ...dialog.text.split("\n"), ...choices];
    }
    if (!isReady) return [""];
    const rows = shownText().split("\n").slice(-maxComposerRows);
    return [rule, ...rows.map((row, at) => `${at === 0 ? sign : "  "}${row}`), rule, ` scripted${hint}`];
  }

  function shownText() {
    return typed.map((part) => (isLong(part) ? `[Pasted text #1 +${part.split("\n").length} lines]` : part)).join("");
  }

  function key(text, pasted) {
    if (dialog !== null) return dialogKey(text);
    if (!isReady) return;
    if (pasted !== undefined) typed.push(pasted.replaceAll("\r", "\n"));
    else if (text === "\r") return enter();
    else if (text === "\x1b" || text === "\x03") return listener.interrupt();
    else if (text === "\x7f") typed.pop();
    else if (text === "\x15") clearLine();
    else if (text === "\n" || (text >= " " && !text.startsWith("\x1b"))) typed.push(text);
  }

  function clearLine() {
    if (typed.at(-1) === "\n" || isLong(typed.at(-1) ?? "")) typed.pop();
    else typed = typed.slice(0, typed.lastIndexOf("\n") + 1);
  }

  function enter() {
    const text = typed.join("").trim();
    typed = [];
    paint();
    if (text !== "") listener.submit(text);
  }

  function dialogKey(text) {
    const { choices, choose } = dialog;
    if (text === "\x1b[A") dialog.selected = Math.max(0, dialog.selected - 1);
    else if (text === "\x1b[B") dialog.selected = Math.min(choices.length - 1, dialog.selected + 1);
    else if (text === "\r") choose(dialog.selected);
    else if (text === "\x1b" || text === "\x03") choose(null);
    else if (/^[1-9]$/.test(text) && Number(text) <= choices.length) choose(Number(text) - 1);
  }

  return {
    listen(wanted) {
      listener = wanted;
      stdin.setRawMode?.(true);
      stdin.setEncoding("utf8").on("data", (data) => {
        pending += data;
        // The rest of a paste comes with the next piece.
        while (pending !== "" && !(pending.startsWith("\x1b[200~") && !pending.includes("\x1b[201~"))) {
          const [all, pasted] = keys.exec(pending);
          pending = pending.slice(all.length);
          key(all, pasted);
        }
        paint();
      });
      stdout.on("resize", () => paint());
      stdout.write("\x1b[?2004h");
    },
    ready() {
      isReady = true;
      paint();
    },
    /** Prints above the composer. */
    print: (text) => paint(`${text}\n`),
    hint(text) {
      hint = text === "" ? "" : ` · ${text}`;
      paint();
    },
    /** Shows a dialog until one of its choices is taken or the signal comes; resolves to its index, null for Escape. */
    choose({ text, choices, signal }) {
      return new Promise((resolve) => {
        const choose = (index) => {
          dialog = null;
          signal?.removeEventListener("abort", leave);
          paint();
          resolve(index);
        };
        const leave = () => choose(undefined);
        signal?.addEventListener("abort", leave);
        dialog = { text, choices, selected: 0, choose };
        paint();
      });
    },
    close: () => stdout.write("\x1b[?2004l\r\n"),
  };
}

function isLong(part) {
  return part.length > 1 && (part.length > longestShownPaste || part.includes("\n"));
}
