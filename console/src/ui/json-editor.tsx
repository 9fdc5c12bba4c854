import { useEffect, useRef, useState } from 'react';
import { Area } from './fields.tsx';
import type { MountedEditor } from './code-mirror.ts';
import { formTexts } from './form-messages.ts';
import styles from './json-editor.module.css';

interface JsonEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error?: string | null;
}

/** A text of JSON in an editor, which loads when it is shown; where it can't load, in a plain field. Tab leaves it. */
export function JsonEditor({ label, value, onChange, error = null }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<MountedEditor | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const latest = useRef({ value, onChange });
  useEffect(() => {
    latest.current = { value, onChange };
  });

  useEffect(() => {
    const place = host.current;
    let isGone = false;
    import('./code-mirror.ts')
      .then(({ mountEditor }) => {
        if (isGone || place === null) return;
        const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
        editor.current = mountEditor(root, { label, text: latest.current.value, onChange: (text) => latest.current.onChange(text) });
      })
      .catch(() => setFailed(true));
    return () => {
      isGone = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, [label]);
  useEffect(() => editor.current?.show(value), [value]);
  useEffect(() => editor.current?.mark(error), [error]);

  if (hasFailed) return <Area label={label} value={value} onChange={onChange} error={error} rows={16} isMono />;
  return (
    <div className={styles.field}>
      <span>{label}</span>
      <div ref={host} className={styles.host} data-invalid={error !== null || undefined} />
      <p className="hint">{formTexts.leavesEditor}</p>
      {error !== null && (
        <p role="alert" className="error">
          {error}
        </p>
      )}
    </div>
  );
}
