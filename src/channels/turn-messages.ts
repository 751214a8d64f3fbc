import type { ChannelLimits, MessageBody } from "./channel.ts";
import { fromMarkdown } from "./markdown.ts";
import { splitText } from "./split.ts";
import { cutOut, messageOf, plainWords, type Styled, styled, trimmed } from "./styled.ts";

// More than this on a telephone is a file.
const maxPieces = 4;
/** Ours. Chat programs take more; nobody reads more on a telephone. */
const maxDocumentLength = 1024 * 1024;

/** What an agent said, in as few messages as it fits into; a very long text as a file with its beginning beside it. */
export function turnMessages(
  text: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): readonly MessageBody[] {
  const plain = plainWords(text).trim();
  if (plain === "") return [messageOf(styled("✓ Done, without words."), { replyTo })];
  if (plain.length > limits.maxTextLength * maxPieces) return [asDocument(plain, { limits, replyTo, name })];
  const pieces = splitText(fromMarkdown(plain), limits);
  return pieces.map((piece, index) => messageOf(piece, { replyTo: index === 0 ? replyTo : null }));
}

// A file's caption holds 1024 characters.
const maxCaptionLength = 900;

function asDocument(
  plain: string,
  { limits, replyTo, name }: { readonly limits: ChannelLimits; readonly replyTo: string | null; readonly name: string },
): MessageBody {
  const isCut = plain.length > maxDocumentLength;
  const content = isCut ? `${plain.slice(0, maxDocumentLength).toWellFormed()}\n\n(cut here)\n` : plain;
  const beginning = fromMarkdown(plain.slice(0, maxCaptionLength * 2));
  const [first] = splitText(cutOut(beginning, 0, maxCaptionLength), { ...limits, maxTextLength: maxCaptionLength });
  const caption: Styled = styled(trimmed(first ?? styled("")), `\n\n… ${plain.length} characters in the file`);
  return messageOf(caption, { replyTo, document: { name, content } });
}
