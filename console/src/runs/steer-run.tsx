import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Area } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useDraft } from '../ui/draft.ts';
import { useIntent } from '../ui/use-intent.ts';
import styles from './run.module.css';

/** A message to a run that is under way. */
export function SteerRun({ runId }: { readonly runId: string }) {
  const [text, setText] = useDraft(`steer:${runId}`);
  const [isSent, setSent] = useState(false);
  const { send, isBusy, error } = useIntent((content: string, options) =>
    api.addRunInput({ run_id: runId, kind: 'message', text: content }, options),
  );
  const steer = async () => {
    if (text.trim() === '') return;
    const isDone = await send(text);
    setSent(isDone);
    if (isDone) setText('');
  };
  return (
    <Form
      className={styles.steer}
      onSubmit={(event) => {
        event.preventDefault();
        void steer();
      }}
    >
      {error !== null && <Fault error={error} />}
      <Area label={t.run.steer} hint={isSent ? t.run.sent : t.run.steerHint} rows={2} value={text} onChange={setText} />
      <div className="actions">
        <Button type="submit" isPending={isBusy} isDisabled={text.trim() === ''}>
          {t.run.send}
        </Button>
      </div>
    </Form>
  );
}
