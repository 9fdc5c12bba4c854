import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Field } from '../ui/fields.tsx';
import { t as own } from './messages.ts';

/** Erases a run that has ended, with all below it. */
export function PurgeRun({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [word, setWord] = useState('');
  return (
    <ActionDialog
      label={own.purge.open}
      title={own.purge.title}
      submit={own.purge.submit}
      tone="danger"
      content={word === own.purge.word ? { run_id: runId } : null}
      onOpen={() => setWord('')}
      write={async (content) => {
        await api.purgeRun(content);
        await navigate({ to: '/w/$workspaceId/runs', params: { workspaceId } });
        queries.removeQueries({ queryKey: ['run', runId] });
      }}
    >
      <p>{own.purge.text}</p>
      <Field label={own.purge.confirm} value={word} onChange={setWord} />
    </ActionDialog>
  );
}
