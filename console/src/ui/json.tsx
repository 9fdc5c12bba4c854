import { useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import styles from './json.module.css';

const foldedAt = 64 * 1024;
const shownAtMost = 1024 * 1024;

/** A value as JSON: large ones are folded, and the largest can only be saved. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'null', [value]);
  const [isOpen, setOpen] = useState(text.length <= foldedAt);
  if (text.length > shownAtMost) return <Save text={text} label={label} />;
  if (!isOpen) return <Button onPress={() => setOpen(true)}>{`${label}: ${Math.ceil(text.length / 1024)} KB`}</Button>;
  return (
    <pre className={styles.json} tabIndex={0} role="region" aria-label={label}>
      <code>{coloured(text)}</code>
    </pre>
  );
}

function Save({ text, label }: { readonly text: string; readonly label: string }) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${label}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return <Button onPress={save}>{`${label}: ${(text.length / 1024 / 1024).toFixed(1)} MB ↓`}</Button>;
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
