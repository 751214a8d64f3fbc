import { type ImageType, imageTypeOf } from "../core/image-types.ts";
import {
  type Block,
  maxResultImages,
  type ResultImage,
  type ToolResult,
  type Turn,
  type TurnAttachment,
  type TurnImage,
  type Usage,
} from "../wire/turn.ts";

/** A tool's result is cut here. */
export const maxResultCharacters = 30_000;
/** Strings in a tool's input are cut here. */
const maxInputCharacters = 30_000;
/** Deeper input is not shown: it could overflow the stack of a JSON serializer. */
const maxInputDepth = 32;
/** Members of an object or array in an input that are shown. */
const maxInputMembers = 2_000;
/** A longer turn is shown in part: about what an agent writes in a very long day. */
const maxTurnCharacters = 8_000_000;
/** The length of results in a very long turn. */
const lateResultCharacters = 1_000;
/** A text that would be cut to fewer characters than this is left out. */
const minCutCharacters = 1_000;

/** The first `limit` characters, without half of a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

/** A tool's result, cut to {@link maxResultCharacters}. */
export function toolResult(ok: boolean, text: string): ToolResult {
  const shown = cut(text, maxResultCharacters);
  return { ok, text: shown, truncated: shown.length < text.length };
}

/** A tool's input with long strings cut, and marked as cut. */
export function toolInput(value: unknown, { depth = 0, maxCharacters = maxInputCharacters } = {}): unknown {
  if (typeof value === "string") {
    const shown = cut(value, maxCharacters);
    return shown.length < value.length ? `${shown}… (${value.length - shown.length} characters cut)` : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxInputDepth) return "… (nested too deeply)";
  const inside = (member: unknown): unknown => toolInput(member, { depth: depth + 1, maxCharacters });
  if (Array.isArray(value)) return value.slice(0, maxInputMembers).map(inside);
  const members = Object.entries(value).slice(0, maxInputMembers);
  return Object.fromEntries(members.map(([key, member]) => [key, inside(member)]));
}

type ToolCall = Extract<Block, { readonly type: "tool_call" }>;

/** A turn under construction. Calls have ids: a result finds its call, and a repeated call is one block. */
export interface TurnDraft {
  at: string | null;
  endedAt: string | null;
  model: string | null;
  images: readonly TurnImage[];
  attachments: readonly TurnAttachment[];
  /** Usage of each of the model's answers, by its id; the last value set counts. */
  readonly usages: Map<string, Usage>;
  /** Adds text or thinking, unless it is empty. */
  addText(text: string | null, type?: "text" | "thinking"): void;
  add(block: Block): void;
  /** Adds the call, or replaces the one with the same id, keeping its result if there is no newer one. */
  putCall(call: Omit<ToolCall, "type">): void;
  hasCall(id: string): boolean;
  /** Sets the call's result, if the call exists and has no result yet. */
  resolve(id: string, result: ToolResult): void;
  dropCall(id: string): void;
  /** Adds the images of a call's result, as base64. */
  addPictures(id: string, pictures: readonly string[]): void;
  /** Removes texts and thinking; calls stay. */
  dropTexts(): void;
  /** The timestamp of a line of the turn. */
  touch(timestamp: string | null): void;
  build(index: number, role: Turn["role"]): Turn;
}

function sizeOfCall(call: ToolCall): number {
  return (JSON.stringify(call.input)?.length ?? 0) + (call.result?.text.length ?? 0);
}

/** An image of a tool's result. */
export interface WantedPicture {
  readonly call: string;
  /** The image's index in the result. */
  readonly image: number;
}

/** @param wanted the only image whose data is kept, as base64 with `keep` */
export function createTurnDraft(wanted?: WantedPicture & { readonly keep: (base64: string) => void }): TurnDraft {
  const blocks: (Block | null)[] = [];
  const positionOfCall = new Map<string, number>();
  const imagesOfCall = new Map<string, ResultImage[]>();
  let characters = 0;
  let leftOut = 0;

  function callAt(id: string): { readonly position: number; readonly call: ToolCall } | null {
    const position = positionOfCall.get(id);
    const block = position === undefined ? null : blocks[position];
    return position !== undefined && block?.type === "tool_call" ? { position, call: block } : null;
  }

  /** A turn may have thousands of results: past half of the limit each is shortened. */
  function fitted<Result extends ToolResult | null>(result: Result): Result | ToolResult {
    if (result === null || characters <= maxTurnCharacters / 2 || result.text.length <= lateResultCharacters)
      return result;
    return { ok: result.ok, text: cut(result.text, lateResultCharacters), truncated: true };
  }

  function withPictures(block: Block): Block {
    const images = block.type === "tool_call" ? imagesOfCall.get(block.id) : undefined;
    if (images === undefined || images.length === 0 || block.type !== "tool_call" || block.result === null)
      return block;
    return { ...block, result: { ...block.result, images: [...images] } };
  }

  const draft: TurnDraft = {
    at: null,
    endedAt: null,
    model: null,
    images: [],
    attachments: [],
    usages: new Map(),
    addText(text, type = "text") {
      if (text !== null && text !== "") draft.add({ type, text });
    },
    add(block) {
      const size = block.type === "tool_call" ? sizeOfCall(block) : block.text.length;
      const room = maxTurnCharacters - characters;
      if (size <= room) {
        characters += size;
        blocks.push(block);
      } else if (block.type !== "tool_call" && room >= minCutCharacters) {
        const shown = cut(block.text, room);
        characters += shown.length;
        blocks.push({ ...block, text: `${shown}… (${block.text.length - shown.length} characters cut)` });
      } else leftOut++;
    },
    putCall(call) {
      const known = callAt(call.id);
      if (known === null) {
        const before = blocks.length;
        draft.add({ type: "tool_call", ...call });
        if (blocks.length > before) positionOfCall.set(call.id, before);
        return;
      }
      const fuller: ToolCall = { type: "tool_call", ...call, result: fitted(call.result) ?? known.call.result };
      const growth = sizeOfCall(fuller) - sizeOfCall(known.call);
      if (characters + growth > maxTurnCharacters) return;
      characters += growth;
      blocks[known.position] = fuller;
    },
    hasCall: (id) => callAt(id) !== null,
    resolve(id, result) {
      const known = callAt(id);
      if (known === null || known.call.result !== null) return;
      const shown = fitted(result);
      characters += shown.text.length;
      blocks[known.position] = { ...known.call, result: shown };
    },
    dropCall(id) {
      const known = callAt(id);
      if (known === null) return;
      blocks[known.position] = null;
      positionOfCall.delete(id);
    },
    addPictures(id, pictures) {
      // A resumed session can repeat a result.
      if (pictures.length === 0 || imagesOfCall.has(id) || callAt(id) === null) return;
      const images: ResultImage[] = [];
      for (const base64 of pictures) {
        const mediaType = mediaTypeOf(base64);
        if (mediaType === null || images.length >= maxResultImages) continue;
        if (wanted?.call === id && wanted.image === images.length) wanted.keep(base64);
        images.push({ mediaType, sizeBytes: Math.floor((base64.replace(/=+$/, "").length * 3) / 4) });
      }
      imagesOfCall.set(id, images);
    },
    dropTexts() {
      for (const [position, block] of blocks.entries()) {
        if (block !== null && block.type !== "tool_call") blocks[position] = null;
      }
    },
    touch(timestamp) {
      if (timestamp === null) return;
      draft.at ??= timestamp;
      draft.endedAt = timestamp;
    },
    build(index, role) {
      const shown = blocks.filter((block) => block !== null).map(withPictures);
      if (leftOut > 0)
        shown.push({ type: "text", text: `(${leftOut} more blocks omitted: this turn is too long to show in full)` });
      const text = shown.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
      const { at, endedAt, model, images, attachments } = draft;
      const turn = { index, role, at, endedAt, text, blocks: shown, model, usage: sumOf(draft.usages) };
      return {
        ...turn,
        ...(images.length === 0 ? {} : { images: [...images] }),
        ...(attachments.length === 0 ? {} : { attachments: [...attachments] }),
      };
    },
  };
  return draft;
}

function sumOf(usages: ReadonlyMap<string, Usage>): Usage | null {
  if (usages.size === 0) return null;
  const total = (key: keyof Usage): number =>
    [...usages.values()].reduce((sum, usage) => Math.min(sum + usage[key], Number.MAX_SAFE_INTEGER), 0);
  return {
    inputTokens: total("inputTokens"),
    outputTokens: total("outputTokens"),
    cacheReadTokens: total("cacheReadTokens"),
  };
}

/** Characters of base64 per image: 1.5 MB, a screenshot of a large display. */
const maxImageCharacters = 2_000_000;
/** The limit for all images of a prompt together. */
const maxImagesCharacters = 6_000_000;
/** Further images are left out. */
const maxImages = 20;

/** Base64 characters of the longest signature. */
const beginningCharacters = 24;

/** An image by its content; null for a type that a browser should not show. */
function imageOf(base64: string): TurnImage | null {
  const mediaType = mediaTypeOf(base64);
  if (mediaType === null) return null;
  return { mediaType, data: base64.length <= maxImageCharacters && isBase64(base64) ? base64 : null };
}

function mediaTypeOf(base64: string): ImageType | null {
  return imageTypeOf(Buffer.from(base64.slice(0, beginningCharacters), "base64"));
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The images of a prompt as base64, without unsupported and excess ones. */
export function imagesOf(found: readonly (string | null)[]): readonly TurnImage[] {
  let characters = 0;
  const given = found.filter((base64) => base64 !== null);
  return given.slice(0, maxImages).flatMap((base64) => {
    const image = imageOf(base64);
    if (image === null) return [];
    characters += image.data?.length ?? 0;
    return characters > maxImagesCharacters ? [{ ...image, data: null }] : [image];
  });
}
