import { useRef, useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Area } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useDraft } from '../ui/draft.ts';
import styles from './run.module.css';

/** A message to a run that is under way. */
export function SteerRun({ runId }: { readonly runId: string }) {
  const [text, setText] = useDraft(`steer:${runId}`);
  const [phase, setPhase] = useState<'open' | 'busy' | 'sent'>('open');
  const [error, setError] = useState<unknown>(null);
  const intent = useRef<{ readonly text: string; readonly key: string } | null>(null);

  const send = async () => {
    if (text.trim() === '' || phase === 'busy') return;
    if (intent.current?.text !== text) intent.current = { text, key: crypto.randomUUID() };
    setPhase('busy');
    setError(null);
    try {
      await api.addRunInput({ run_id: runId, kind: 'message', text }, { idempotencyKey: intent.current.key });
      intent.current = null;
      setText('');
      setPhase('sent');
    } catch (thrown) {
      setError(thrown);
      setPhase('open');
    }
  };
  return (
    <Form
      className={styles.steer}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {error !== null && <Fault error={error} />}
      <Area label={t.run.steer} hint={phase === 'sent' ? t.run.sent : t.run.steerHint} rows={2} value={text} onChange={setText} />
      <div className="actions">
        <Button type="submit" isPending={phase === 'busy'} isDisabled={text.trim() === ''}>
          {t.run.send}
        </Button>
      </div>
    </Form>
  );
}
