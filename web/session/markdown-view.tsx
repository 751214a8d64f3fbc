import { memo } from "react";
import { CodeBlock } from "./code-block.tsx";
import { type MarkdownBlock, parseMarkdown } from "./markdown.ts";
import { type Inline, parseInline } from "./markdown-inline.ts";
import { Scrollable } from "./scrollable.tsx";

/** The text of an agent, as markdown. Untrusted: it becomes elements of ours, never HTML of its own. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="flex flex-col gap-2">
      <Blocks blocks={parseMarkdown(text)} />
    </div>
  );
});

function Blocks({ blocks }: { readonly blocks: readonly MarkdownBlock[] }) {
  // The blocks of a text have no identity but their place.
  return blocks.map((block, index) => <Block key={index} block={block} />);
}

function Block({ block }: { readonly block: MarkdownBlock }) {
  switch (block.type) {
    case "paragraph":
      return (
        <p className="whitespace-pre-wrap">
          <Line text={block.text} />
        </p>
      );
    case "heading": {
      // The page has its own headings: an agent's stand below them.
      const Heading = block.level <= 1 ? "h4" : block.level === 2 ? "h5" : "h6";
      return (
        <Heading
          className={block.level <= 2 ? "mt-1 text-[0.9375rem] font-semibold" : "mt-1 font-semibold text-ink-soft"}
        >
          <Line text={block.text} />
        </Heading>
      );
    }
    case "code":
      return <CodeBlock text={block.text} language={block.language} />;
    case "quote":
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-ink-soft">
          <Blocks blocks={block.children} />
        </blockquote>
      );
    case "list":
      return <List block={block} />;
    case "table":
      return <Table block={block} />;
    case "rule":
      return <hr className="my-1 border-line" />;
  }
}

function List({ block }: { readonly block: Extract<MarkdownBlock, { type: "list" }> }) {
  const items = block.items.map((item, index) => (
    <li key={index} className="pl-1 marker:text-ink-faint">
      <div className="flex flex-col gap-1.5">
        <Blocks blocks={item} />
      </div>
    </li>
  ));
  if (!block.ordered) return <ul className="flex list-disc flex-col gap-1 pl-5">{items}</ul>;
  return (
    <ol start={block.start} className="flex list-decimal flex-col gap-1 pl-6">
      {items}
    </ol>
  );
}

function Table({ block }: { readonly block: Extract<MarkdownBlock, { type: "table" }> }) {
  return (
    <Scrollable label="Table" className="overflow-x-auto">
      <table className="border-collapse text-left text-xs">
        <thead>
          <tr>
            {block.head.map((cell, column) => (
              <th key={column} scope="col" className="border-b border-line-strong px-2 py-1 font-semibold">
                <Line text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className="border-b border-line px-2 py-1 align-top">
                  <Line text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

function Line({ text }: { readonly text: string }) {
  return <Pieces pieces={parseInline(text)} />;
}

function Pieces({ pieces }: { readonly pieces: readonly Inline[] }) {
  return pieces.map((piece, index) => <Piece key={index} piece={piece} />);
}

function Piece({ piece }: { readonly piece: Inline }) {
  switch (piece.type) {
    case "text":
      return piece.text;
    case "code":
      return <code className="rounded bg-well px-1 py-0.5 font-mono text-[0.8125em]">{piece.text}</code>;
    case "strong":
      return (
        <strong className="font-semibold">
          <Pieces pieces={piece.children} />
        </strong>
      );
    case "emphasis":
      return (
        <em>
          <Pieces pieces={piece.children} />
        </em>
      );
    case "deleted":
      return (
        <del>
          <Pieces pieces={piece.children} />
        </del>
      );
    case "link":
      return (
        <a
          href={piece.href}
          target="_blank"
          rel="noopener noreferrer nofollow"
          className="text-accent underline underline-offset-2"
        >
          <Pieces pieces={piece.children} />
        </a>
      );
    case "break":
      return <br />;
  }
}
