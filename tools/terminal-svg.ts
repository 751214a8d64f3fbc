import xterm from "@xterm/headless";

/** Output of a program, with its time. */
export interface Output {
  /** Milliseconds since the start. */
  readonly atMs: number;
  readonly data: string;
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

interface Run {
  readonly x: number;
  readonly width: number;
  readonly text: string;
  /** Its style, as SVG attributes. */
  readonly look: string;
  readonly ground: string | null;
}

interface Shown {
  readonly rows: readonly string[];
  readonly atMs: number;
}

const cell = { width: 8.4, height: 17, size: 14 };
const margin = 14;
const colours = { ground: "#0b0f0e", ink: "#e6e3da" };
/** Output within this time is one frame. */
const frameMs = 80;
/** Longer pauses are shortened to this. */
const longestPauseMs = 1_600;
/** The last frame stays this long before the animation repeats. */
const restMs = 4_000;

/** A terminal recording as a looping SVG animation; with reduced motion it shows the fullest frame. */
export async function terminalSvg(outputs: readonly Output[], size: TerminalSize): Promise<string> {
  const frames = await framesOf(outputs, size);
  const rows = new Map<string, string>();
  for (const row of frames.flatMap((frame) => frame.rows)) {
    if (row !== "" && !rows.has(row)) rows.set(row, `r${rows.size}`);
  }
  const [width, height] = [size.cols * cell.width + 2 * margin, size.rows * cell.height + 2 * margin];
  const { durationMs, starts } = timesOf(frames);
  const steps = starts.map((at, index) => `${percent(at / durationMs)}{transform:translateY(${-index * height}px)}`);
  const symbols = [...rows].map(([content, id]) => `<g id="${id}">${content}</g>`);
  const strip = frames.map(({ rows: shown }, index) => {
    const uses = shown.flatMap((row, y) =>
      row === "" ? [] : [`<use href="#${rows.get(row)}" y="${index * height + y * cell.height}"/>`],
    );
    return uses.join("");
  });
  const fullness = frames.map(({ rows: shown }) => shown.filter((row) => row !== "").length);
  const still = -fullness.lastIndexOf(Math.max(...fullness)) * height;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<style>text{font:${cell.size}px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace;fill:${colours.ink};white-space:pre}`,
    `.b{font-weight:700}.d{opacity:.6}.i{font-style:italic}.u{text-decoration:underline}`,
    `.play{animation:play ${durationMs}ms steps(1,end) infinite}@keyframes play{${steps.join("")}}`,
    `@media(prefers-reduced-motion:reduce){.play{animation:none;transform:translateY(${still}px)}}</style>`,
    `<defs>${symbols.join("")}<clipPath id="window"><rect width="${width}" height="${height - margin}"/></clipPath></defs>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${colours.ground}"/>`,
    `<g clip-path="url(#window)"><g class="play"><g transform="translate(${margin} ${margin})">${strip.join("\n")}</g></g></g>`,
    "</svg>\n",
  ].join("\n");
}

async function framesOf(outputs: readonly Output[], size: TerminalSize): Promise<readonly Shown[]> {
  const terminal = new xterm.Terminal({ ...size, allowProposedApi: true });
  const frames: Shown[] = [];
  for (const [index, { atMs, data }] of outputs.entries()) {
    await new Promise<void>((done) => terminal.write(data, done));
    const next = outputs[index + 1];
    if (next !== undefined && next.atMs - (frames.at(-1)?.atMs ?? -frameMs) < frameMs) continue;
    const rows = shownRows(terminal);
    const before = frames.at(-1)?.rows;
    if (before === undefined || rows.some((row, y) => row !== before[y])) frames.push({ rows, atMs });
  }
  terminal.dispose();
  return frames;
}

function timesOf(frames: readonly Shown[]): { readonly durationMs: number; readonly starts: readonly number[] } {
  let at = 0;
  const starts = frames.map((frame, index) => {
    const before = frames[index - 1];
    if (before !== undefined) at += Math.min(frame.atMs - before.atMs, longestPauseMs);
    return at;
  });
  return { durationMs: at + restMs, starts };
}

function percent(part: number): string {
  return `${(100 * part).toFixed(3)}%`;
}

function shownRows(terminal: xterm.Terminal): readonly string[] {
  const { active } = terminal.buffer;
  return Array.from({ length: terminal.rows }, (_, y) => {
    const line = active.getLine(active.baseY + y);
    return line === undefined ? "" : drawn(runsOf(line, terminal.cols));
  });
}

function runsOf(line: xterm.IBufferLine, cols: number): readonly Run[] {
  const runs: Run[] = [];
  for (let x = 0; x < cols; x += 1) {
    const one = line.getCell(x);
    if (one === undefined || one.getWidth() === 0) continue;
    const text = one.isInvisible() ? " " : one.getChars() || " ";
    const { look, ground } = looksOf(one);
    const before = runs.at(-1);
    // Characters outside ASCII are placed one by one: their glyphs can come from another font with another width.
    const plain = /^[ -~]$/.test(text);
    if (
      before !== undefined &&
      plain &&
      /[ -~]$/.test(before.text) &&
      before.look === look &&
      before.ground === ground
    ) {
      runs[runs.length - 1] = { ...before, text: before.text + text, width: before.width + one.getWidth() };
    } else {
      runs.push({ x, width: one.getWidth(), text, look, ground });
    }
  }
  return runs.filter(({ text, ground, look }) => ground !== null || text.trim() !== "" || look.includes("u"));
}

function drawn(runs: readonly Run[]): string {
  return runs
    .map(({ x, width, text, look, ground }) => {
      const at = (x * cell.width).toFixed(1);
      const px = (columns: number): string => (columns * cell.width).toFixed(1);
      const back =
        ground === null ? "" : `<rect x="${at}" width="${px(width)}" height="${cell.height}" fill="${ground}"/>`;
      const seen = text.trimEnd();
      if (seen === "") return back;
      const fit =
        seen.length > 1 ? ` textLength="${px(width - text.length + seen.length)}" lengthAdjust="spacingAndGlyphs"` : "";
      return `${back}<text x="${at}" y="13"${fit}${look}>${escaped(seen)}</text>`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function looksOf(one: xterm.IBufferCell): { readonly look: string; readonly ground: string | null } {
  const ink = one.isFgDefault() ? null : colourOf(one.getFgColor(), one.isFgRGB());
  const back = one.isBgDefault() ? null : colourOf(one.getBgColor(), one.isBgRGB());
  const turned = one.isInverse() !== 0;
  const fill = turned ? (back ?? colours.ground) : ink;
  const ground = turned ? (ink ?? colours.ink) : back;
  const classes = [
    one.isBold() ? "b" : "",
    one.isDim() ? "d" : "",
    one.isItalic() ? "i" : "",
    one.isUnderline() ? "u" : "",
  ].filter((name) => name !== "");
  return {
    look: `${fill === null ? "" : ` style="fill:${fill}"`}${classes.length === 0 ? "" : ` class="${classes.join(" ")}"`}`,
    ground,
  };
}

const sixteen = [
  ...["#1d2220", "#e06c5f", "#6fbf8f", "#dba94f", "#6ea4e0", "#bd87d6", "#5fbcbc", "#d4d0c6"],
  ...["#6b726f", "#f0877b", "#8bd8a8", "#f0c36d", "#8bbcf0", "#d3a2ea", "#7cd6d6", "#f4f1e9"],
];

/** One of the 256 colors: sixteen named ones, a cube of six steps, a gray ramp. */
function colourOf(value: number, isRgb: boolean): string {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  const named = sixteen[value];
  if (named !== undefined) return named;
  if (value >= 232) return grey(8 + (value - 232) * 10);
  const level = (part: number): number => (part === 0 ? 0 : 55 + part * 40);
  const index = value - 16;
  const parts = [level(Math.floor(index / 36)), level(Math.floor(index / 6) % 6), level(index % 6)];
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function grey(level: number): string {
  return `#${level.toString(16).padStart(2, "0").repeat(3)}`;
}
