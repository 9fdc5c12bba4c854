import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { Field } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';

/** Ends a run, with what it has done or without. */
export function CancelRun({ runId, isCancelling }: { readonly runId: string; readonly isCancelling: boolean }) {
  return (
    <DialogTrigger>
      <Button isDisabled={isCancelling}>{t.run.cancel}</Button>
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>{({ close }) => <CancelForm runId={runId} onDone={close} />}</Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function CancelForm({ runId, onDone }: { readonly runId: string; readonly onDone: () => void }) {
  const queries = useQueryClient();
  const [policy, setPolicy] = useState<'interrupt' | 'rollback'>('interrupt');
  const [reason, setReason] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const key = useRef(crypto.randomUUID());

  const cancel = async () => {
    setBusy(true);
    setError(null);
    try {
      await api.cancelRun(
        { run_id: runId, policy, ...(reason.trim() !== '' && { reason: reason.trim() }) },
        { idempotencyKey: key.current },
      );
      await queries.invalidateQueries({ queryKey: ['run', runId] });
      onDone();
    } catch (thrown) {
      // Another choice after a refusal is another intent.
      key.current = crypto.randomUUID();
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <>
      <Heading slot="title" level={2}>
        {t.run.cancelTitle}
      </Heading>
      {error !== null && <Fault error={error} />}
      <Choice
        label={t.run.cancelTitle}
        value={policy}
        onChange={setPolicy}
        options={[
          { id: 'interrupt', label: t.run.interrupt },
          { id: 'rollback', label: t.run.rollback },
        ]}
      />
      <p className="hint">{t.run.cancelHint}</p>
      <Field label={t.run.cancelReason} value={reason} onChange={setReason} />
      <div className="actions">
        <Button className="react-aria-Button danger" isPending={isBusy} onPress={() => void cancel()}>
          {t.run.cancelSubmit}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </>
  );
}
