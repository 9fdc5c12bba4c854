import { lazy, Suspense } from 'react';
import type { Views } from '../app/api.ts';
import { Json, LongText } from '../ui/json.tsx';
import { Attachment } from './attachment.tsx';
import styles from './run.module.css';

const Markdown = lazy(() => import('../ui/markdown.tsx').then(({ Markdown }) => ({ default: Markdown })));

type Content = Views['MessageView']['content'];

interface BlocksProps {
  readonly content: Content;
  /** Whether texts are Markdown, as models write it; people's are shown as they typed them. */
  readonly isMarkdown: boolean;
}

const plainFrom = 64 * 1024;

/** The content of a message, part by part. Foreign: nothing in it becomes markup. */
export function Blocks({ content, isMarkdown }: BlocksProps) {
  return content.map((block, index) => <Block key={index} block={block} isMarkdown={isMarkdown} />);
}

function Block({ block, isMarkdown }: { readonly block: Content[number]; readonly isMarkdown: boolean }) {
  switch (block.type) {
    case 'attachment':
      return 'attachment_id' in block ? <Attachment file={block} /> : null;
    case 'json':
      return 'value' in block ? <Json value={block.value} label={block.type} /> : null;
    case 'citation':
      return <Json value={block} label={block.type} />;
    default:
      return 'text' in block ? <Words text={block.text} isMarkdown={isMarkdown} /> : <Json value={block} label="block" />;
  }
}

function Words({ text, isMarkdown }: { readonly text: string; readonly isMarkdown: boolean }) {
  if (text.length > plainFrom) return <LongText text={text} label="text" />;
  if (!isMarkdown) return <p className={styles.plain}>{text}</p>;
  return (
    <Suspense fallback={<p className={styles.plain}>{text}</p>}>
      <Markdown text={text} />
    </Suspense>
  );
}
