import { z } from "zod";

const entitySchema = z.object({
  type: z.string(),
  offset: z.int().min(0),
  length: z.int().min(1),
  language: z.string().optional(),
  url: z.string().optional(),
});
/** A style, or a link, of a part of a text. */
export type Entity = z.infer<typeof entitySchema>;

/** What the Bot API refuses, as it says it. */
export class BadRequest extends Error {
  readonly status: number;
  readonly retryAfter: number | undefined;
  constructor(description: string, status = 400, retryAfter?: number) {
    super(description);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** A text with its styles. */
export interface Said {
  readonly text: string;
  readonly entities: readonly Entity[];
}

/** Text and styles, as the server would take them. */
export function textOf(body: Record<string, unknown>, field: "text" | "caption", maxLength: number): Said {
  const words = z.string().parse(body[field] ?? "");
  const entities = z.array(entitySchema).parse(body[field === "text" ? "entities" : "caption_entities"] ?? []);
  if (body["parse_mode"] !== undefined) throw new BadRequest("Bad Request: no parse mode is expected here");
  if (words.length > maxLength) throw new BadRequest("Bad Request: message is too long");
  if (words.trim() === "") throw new BadRequest("Bad Request: message text is empty");
  if (!words.isWellFormed()) throw new BadRequest("Bad Request: strings must be encoded in UTF-8");
  if (entities.length > 100) throw new BadRequest("Bad Request: too many entities");
  for (const { type, offset, length, url } of entities) {
    if (offset + length > words.length) throw new BadRequest("Bad Request: entity beyond the end of its text");
    const cut = [offset, offset + length].some((at) => /^[\udc00-\udfff]/.test(words.slice(at, at + 1)));
    if (cut) throw new BadRequest("Bad Request: entity begins or ends in the middle of a character");
    if (type === "text_link" && !/^https?:/.test(url ?? "")) throw new BadRequest("Bad Request: wrong link");
  }
  return { text: words, entities };
}
