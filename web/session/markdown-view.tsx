import { Image } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { Scrollable } from "../ui/page.tsx";
import { webAddress } from "../ui/untrusted.tsx";
import { withoutAnsi } from "./ansi.ts";
import { CodeBlock } from "./code-block.tsx";
import { type MarkdownNode, readMarkdown } from "./markdown.ts";

/** Untrusted Markdown, rendered as our elements, never as HTML. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const { nodes, rest } = useMemo(() => readMarkdown(withoutAnsi(text)), [text]);
  return (
    <div className="flex flex-col gap-2">
      <Nodes nodes={nodes} />
      {rest.trim() !== "" && (
        <>
          <p className="text-2xs text-ink-faint">
            {nodes.length === 0 ? "This text" : "The rest"} is too long or too deeply nested to format. It is shown as
            it was written.
          </p>
          <p className="wrap-anywhere whitespace-pre-wrap">{rest}</p>
        </>
      )}
    </div>
  );
});

function Nodes({ nodes }: { readonly nodes: readonly MarkdownNode[] }) {
  return nodes.map((node, index) => <Node key={index} node={node} />);
}

function Node({ node }: { readonly node: MarkdownNode }): ReactNode {
  const { token } = node;
  const children = <Nodes nodes={node.children} />;
  switch (token.type) {
    case "paragraph_open":
      return <p className="whitespace-pre-wrap">{children}</p>;
    case "heading_open":
      return <Heading node={node} />;
    case "fence":
    case "code_block":
      return <CodeBlock text={token.content.replace(/\n$/, "")} language={languageOf(token.info)} />;
    case "blockquote_open":
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-ink-soft">
          {children}
        </blockquote>
      );
    case "bullet_list_open":
      return <ul className="flex list-disc flex-col gap-1 pl-5">{children}</ul>;
    case "ordered_list_open":
      return (
        <ol start={Number(token.attrGet("start") ?? 1)} className="flex list-decimal flex-col gap-1 pl-6">
          {children}
        </ol>
      );
    case "list_item_open":
      return (
        <li className="pl-1 marker:text-ink-faint">
          <div className="flex flex-col gap-1.5">{children}</div>
        </li>
      );
    case "hr":
      return <hr className="my-1 border-line" />;
    case "table_open":
    case "thead_open":
    case "tbody_open":
    case "tr_open":
    case "th_open":
    case "td_open":
      return <TablePart node={node} />;
    default:
      return <Inline node={node} />;
  }
}

/** An agent's headings are below those of the page. */
function Heading({ node }: { readonly node: MarkdownNode }) {
  const level = Number(node.token.tag.slice(1));
  const Tag = level <= 1 ? "h4" : level === 2 ? "h5" : "h6";
  return (
    <Tag className={level <= 2 ? "mt-1 text-[0.9375rem] font-semibold" : "mt-1 font-semibold text-ink-soft"}>
      <Nodes nodes={node.children} />
    </Tag>
  );
}

function TablePart({ node }: { readonly node: MarkdownNode }) {
  const children = <Nodes nodes={node.children} />;
  switch (node.token.type) {
    case "table_open":
      return (
        <Scrollable label="Table" className="overflow-x-auto">
          <table className="border-collapse text-left text-xs">{children}</table>
        </Scrollable>
      );
    case "thead_open":
      return <thead>{children}</thead>;
    case "tbody_open":
      return <tbody>{children}</tbody>;
    case "tr_open":
      return <tr>{children}</tr>;
    case "th_open":
      return (
        <th scope="col" className={`border-b border-line-strong px-2 py-1 font-semibold ${alignmentOf(node)}`}>
          {children}
        </th>
      );
    default:
      return <td className={`border-b border-line px-2 py-1 align-top ${alignmentOf(node)}`}>{children}</td>;
  }
}

function alignmentOf({ token }: MarkdownNode): string {
  const style = token.attrGet("style");
  return style === "text-align:right" ? "text-right" : style === "text-align:center" ? "text-center" : "";
}

function Inline({ node }: { readonly node: MarkdownNode }): ReactNode {
  const { token } = node;
  const children = <Nodes nodes={node.children} />;
  switch (token.type) {
    case "inline":
      return node.children.length === 0 ? token.content : children;
    case "code_inline":
      return <code className="rounded bg-well px-1 py-0.5 font-mono text-[0.8125em]">{token.content}</code>;
    case "strong_open":
      return <strong className="font-semibold">{children}</strong>;
    case "em_open":
      return <em>{children}</em>;
    case "s_open":
      return <del>{children}</del>;
    case "link_open":
      return <Link node={node} />;
    case "image":
      return <ImageLink node={node} />;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br />;
    default:
      return node.children.length === 0 ? token.content : children;
  }
}

function Link({ node }: { readonly node: MarkdownNode }) {
  const href = webAddress(`${node.token.attrGet("href") ?? ""}`);
  const words = <Nodes nodes={node.children} />;
  if (href === null) return words;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent underline underline-offset-2"
    >
      {node.children.length === 0 ? href : words}
    </a>
  );
}

/** An image becomes a link: a transcript must not cause requests. */
function ImageLink({ node }: { readonly node: MarkdownNode }) {
  const href = webAddress(`${node.token.attrGet("src") ?? ""}`);
  const words = node.token.content;
  if (href === null) return words;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="inline-flex items-center gap-1 text-accent underline underline-offset-2"
    >
      <Image aria-hidden className="size-3.5 shrink-0" />
      {words === "" ? href : words}
    </a>
  );
}

function languageOf(info: string): string {
  return (/^[^\s{,:]+/.exec(info.trim())?.[0] ?? "").toLowerCase();
}
