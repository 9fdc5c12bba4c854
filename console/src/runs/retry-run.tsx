import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { Fault } from '../ui/notice.tsx';

/** Does a run that has ended again, in place of what it did. */
export function RetryRun({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  return (
    <DialogTrigger>
      <Button>{t.run.retry}</Button>
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            <RetryForm runId={runId} workspaceId={workspaceId} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function RetryForm({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const [revision, setRevision] = useState<'pinned' | 'current'>('pinned');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const key = useRef(crypto.randomUUID());

  const retry = async () => {
    setBusy(true);
    setError(null);
    try {
      const run = await api.retryRun({ run_id: runId, revision }, { idempotencyKey: key.current });
      await navigate({ to: '/w/$workspaceId/runs/$runId', params: { workspaceId, runId: run.id } });
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
        {t.run.retryTitle}
      </Heading>
      {error !== null && <Fault error={error} />}
      <p>{t.run.retryHint}</p>
      <Choice
        label={t.run.revision}
        value={revision}
        onChange={setRevision}
        options={[
          { id: 'pinned', label: t.run.pinned },
          { id: 'current', label: t.run.current },
        ]}
      />
      <div className="actions">
        <Button className="react-aria-Button primary" isPending={isBusy} onPress={() => void retry()}>
          {t.run.retrySubmit}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </>
  );
}
