import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { RevisionChoice, type RevisionChosen } from './revision-choice.tsx';

/** Does a run that has ended again, in place of what it did. */
export function RetryRun({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const [revision, setRevision] = useState<RevisionChosen>('pinned');
  return (
    <ActionDialog
      label={t.run.retry}
      title={t.run.retryTitle}
      submit={t.run.retrySubmit}
      content={{ run_id: runId, revision }}
      write={async (content, options) => {
        const run = await api.retryRun(content, options);
        await navigate({ to: '/w/$workspaceId/runs/$runId', params: { workspaceId, runId: run.id } });
      }}
    >
      <p>{t.run.retryHint}</p>
      <RevisionChoice value={revision} onChange={setRevision} />
    </ActionDialog>
  );
}
