import { createGate } from "../core/gate.ts";
import { type ImageType, imageTypeOf } from "../core/image-types.ts";
import type { Transcripts } from "../transcripts/index.ts";
import { maxAttachmentBytes } from "../wire/attachments.ts";
import type { Caller } from "../wire/caller.ts";
import type { TurnImageQuery } from "../wire/turn.ts";
import { sessionError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";
import { transcriptPathOf } from "./read.ts";

/** An image that a tool returned. */
interface FoundImage {
  readonly mediaType: ImageType;
  readonly bytes: Buffer;
}

/** Reads an image in the result of a tool call. @throws PosternError `session_not_found` | `image_not_found` | `rate_limited` */
export type FindTurnImage = (
  sessionId: string,
  place: TurnImageQuery & { readonly turn: number },
  caller: Caller,
) => Promise<FoundImage>;

/** Each reads a whole turn, and holds its image. */
const reads = { atOnce: 2, waiting: 64 };

export function createFindTurnImage({
  locator,
  transcripts,
}: {
  readonly locator: Pick<SessionLocator, "locate">;
  readonly transcripts: Pick<Transcripts, "picture">;
}): FindTurnImage {
  const gate = createGate(reads);
  return async (sessionId, place, caller) => {
    const session = await locator.locate(sessionId, caller);
    const path = transcriptPathOf(session);
    const { transcriptFormat } = session.template;
    const image =
      path === null || transcriptFormat === null
        ? null
        : await gate.run(async () => imageIn(await transcripts.picture(path, transcriptFormat, place)));
    if (image !== null) return image;
    throw sessionError(
      "image_not_found",
      `Turn ${place.turn} of session ${sessionId} has no image ${place.image} in call ${place.call}. Read the turn again.`,
    );
  };
}

/** The type is detected from the content. Larger images are not sent. */
function imageIn(base64: string | null): FoundImage | null {
  if (base64 === null || base64.length > (maxAttachmentBytes / 3) * 4) return null;
  const bytes = Buffer.from(base64, "base64");
  const mediaType = imageTypeOf(bytes);
  return mediaType === null ? null : { mediaType, bytes };
}
