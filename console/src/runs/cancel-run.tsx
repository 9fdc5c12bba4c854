import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import { Field } from '../ui/fields.tsx';

/** Ends a run, with what it has done or without. */
export function CancelRun({ runId, isCancelling }: { readonly runId: string; readonly isCancelling: boolean }) {
  const queries = useQueryClient();
  const [policy, setPolicy] = useState<'interrupt' | 'rollback'>('interrupt');
  const [reason, setReason] = useState('');
  return (
    <ActionDialog
      label={t.run.cancel}
      title={t.run.cancelTitle}
      submit={t.run.cancelSubmit}
      tone="danger"
      disabledBecause={isCancelling ? t.run.isCancelling : null}
      content={{ run_id: runId, policy, ...(reason.trim() !== '' && { reason: reason.trim() }) }}
      write={async (content, options) => {
        await api.cancelRun(content, options);
        await queries.invalidateQueries({ queryKey: ['run', runId] });
      }}
    >
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
    </ActionDialog>
  );
}
