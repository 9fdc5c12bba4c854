import { useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import styles from './json.module.css';
import { JsonTree } from './json-tree.tsx';
import { saveFile } from './save-file.ts';

const foldedAt = 64 * 1024;
const shownAtMost = 1024 * 1024;

/** A value as JSON. One over 64 KB is folded and opens as a tree, level by level; one over 1 MiB can only be saved. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'null', [value]);
  if (text.length > foldedAt) return <Folded value={value} text={text} label={label} />;
  return (
    <pre className={styles.json} tabIndex={0} role="region" aria-label={label}>
      <code>{coloured(text)}</code>
    </pre>
  );
}

/** The same for a text that is not JSON. */
export function LongText({ text, label }: { readonly text: string; readonly label: string }) {
  const [isOpen, setOpen] = useState(text.length <= foldedAt);
  if (isOpen)
    return (
      <pre className={styles.json} tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    );
  return (
    <div className={styles.folded}>
      {text.length <= shownAtMost && <Button onPress={() => setOpen(true)}>{`${label}: ${sizeOf(text)}`}</Button>}
      <Save text={text} label={label} type="text/plain" />
    </div>
  );
}

function Folded({ value, text, label }: { readonly value: unknown; readonly text: string; readonly label: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="stack">
      <div className={styles.folded}>
        {text.length <= shownAtMost && (
          <Button aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>{`${label}: ${sizeOf(text)}`}</Button>
        )}
        <Save text={text} label={label} type="application/json" />
      </div>
      {isOpen && <JsonTree value={value} label={label} />}
    </div>
  );
}

function Save({ text, label, type }: { readonly text: string; readonly label: string; readonly type: string }) {
  const save = () => saveFile(`${label}.${type === 'text/plain' ? 'txt' : 'json'}`, new Blob([text], { type }));
  return <Button className="react-aria-Button quiet" onPress={save}>{`${t.actions.download}: ${label}, ${sizeOf(text)}`}</Button>;
}

function sizeOf(text: string): string {
  return text.length < shownAtMost ? `${Math.ceil(text.length / 1024)} KB` : `${(text.length / 1024 / 1024).toFixed(1)} MB`;
}

const colouredAtMost = 16 * 1024;
const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Keys, texts and numbers in their colours; beyond some length it is not worth the elements. */
function coloured(text: string) {
  if (text.length > colouredAtMost) return text;
  const parts: React.ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(end, match.index));
    const kind = string === undefined ? styles.number : colon === undefined ? styles.text : styles.key;
    parts.push(
      <span key={match.index} className={kind}>
        {string ?? whole}
      </span>,
      colon ?? '',
    );
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}
