/** The part of xterm's parser that we use. */
interface ParserHooks {
  registerCsiHandler(
    id: { readonly prefix?: string; readonly intermediates?: string; readonly final: string },
    handler: () => boolean,
  ): unknown;
  registerDcsHandler(
    id: { readonly prefix?: string; readonly intermediates?: string; readonly final: string },
    handler: () => boolean,
  ): unknown;
  registerOscHandler(id: number, handler: (data: string) => boolean): unknown;
}

/** Device attributes, status and cursor reports, modes, the terminal's name, window operations and reports, parameters. */
const silentSequences = [
  { final: "c" },
  { prefix: ">", final: "c" },
  { prefix: "=", final: "c" },
  { prefix: ">", final: "q" },
  { final: "n" },
  { prefix: "?", final: "n" },
  { prefix: ">", final: "n" },
  { intermediates: "$", final: "p" },
  { prefix: "?", intermediates: "$", final: "p" },
  { prefix: "?", final: "u" },
  { final: "x" },
  { final: "t" },
  { prefix: ">", final: "t" },
  { prefix: "?", final: "S" },
] as const;

/** Requests for settings, capabilities and graphics (DECRQSS, XTGETTCAP, sixel and other DCS). */
const silentRequests = [
  { intermediates: "$", final: "q" },
  { intermediates: "+", final: "q" },
  { intermediates: "+", final: "p" },
  { final: "q" },
  { final: "p" },
] as const;

/** Titles, the working directory, notifications, the clipboard and files: a program must not affect the page. */
const ignoredCommands = [0, 1, 2, 7, 9, 21, 50, 51, 52, 99, 777, 1337] as const;

/** Colours can be set, but not queried. */
const colourCommands = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] as const;

/** Keeps a viewer's terminal from answering queries: the terminal host answers once for all viewers, and a second answer would be typed into the agent's composer. */
export function silenceTerminal(parser: ParserHooks): void {
  const swallow = (): boolean => true;
  for (const id of silentSequences) parser.registerCsiHandler(id, swallow);
  for (const id of silentRequests) parser.registerDcsHandler(id, swallow);
  for (const id of ignoredCommands) parser.registerOscHandler(id, swallow);
  for (const id of colourCommands) parser.registerOscHandler(id, (data) => data.split(";").includes("?"));
}
