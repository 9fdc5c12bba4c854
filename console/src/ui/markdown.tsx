import { memo, useMemo } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import rehypeSanitize from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import styles from './markdown.module.css';

/** Foreign Markdown: no markup of its own gets through, an image is a link to it, and each link says where it leads. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className={styles.markdown}>
      {blocks.map((block, index) => (
        // Blocks are only ever added at the end.
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const plugins = { remark: [remarkGfm], rehype: [rehypeSanitize] };

/** A block that is whole is parsed once. */
const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins.remark} rehypePlugins={plugins.rehype} components={components}>
      {text}
    </ReactMarkdown>
  );
});

const components: Components = {
  a: ({ href, children }) => <Outward href={href}>{children}</Outward>,
  img: ({ src, alt }) => <Outward href={typeof src === 'string' ? src : undefined}>{alt || 'image'}</Outward>,
  // A wide table or text scrolls by itself, and by keyboard.
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  table: ({ children }) => (
    <div className={styles.wide} tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <span aria-hidden="true">{checked ? '☑' : '☐'}</span>,
  h1: ({ children }) => <p className={styles.heading}>{children}</p>,
  h2: ({ children }) => <p className={styles.heading}>{children}</p>,
  h3: ({ children }) => <p className={styles.heading}>{children}</p>,
  h4: ({ children }) => <p className={styles.heading}>{children}</p>,
  h5: ({ children }) => <p className={styles.heading}>{children}</p>,
  h6: ({ children }) => <p className={styles.heading}>{children}</p>,
};

function Outward({ href, children }: { readonly href: string | undefined; readonly children: React.ReactNode }) {
  const host = hostOf(href);
  if (host === null) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
      <span className={styles.host}> ({host})</span>
    </a>
  );
}

/** Null for what is no address on the web. */
function hostOf(href: string | undefined): string | null {
  if (href === undefined || !/^https?:\/\//i.test(href)) return null;
  return URL.canParse(href) ? new URL(href).host : null;
}

/** Cuts at empty lines outside of fences and lists, so that the end can grow without the rest being read again. */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fence: string | null = null;
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === null ? mark : line.trim().startsWith(fence) ? null : fence;
    const startsAnew =
      fence === null &&
      current.length > 0 &&
      current.at(-1) === '' &&
      /^\S/.test(line) &&
      !/^(?:[-*+>|]|\d+[.)]|\[[^\]]+\]:)/.test(line) &&
      mark === undefined;
    if (startsAnew) {
      blocks.push(current.join('\n'));
      current = [];
    }
    current.push(line);
  }
  if (current.length > 0) blocks.push(current.join('\n'));
  return blocks;
}
