import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { useDraft } from '../ui/draft.ts';
import { Area, Field } from '../ui/fields.tsx';
import { t as own } from './messages.ts';
import { RevisionChoice, type RevisionChosen } from './revision-choice.tsx';

interface ForkRunProps {
  readonly runId: string;
  readonly messageId: string;
  /** A user's message is asked again; any other is kept, and what comes next has to be said. */
  readonly isUsers: boolean;
  readonly workspaceId: string;
}

/** Goes on from a message of a run that has ended, in a conversation of its own. */
export function ForkRun({ runId, messageId, isUsers, workspaceId }: ForkRunProps) {
  const navigate = useNavigate();
  const [text, setText] = useDraft(`fork:${messageId}`);
  const [sessionKey, setSessionKey] = useState('');
  const [revision, setRevision] = useState<RevisionChosen>('pinned');
  const content: { run_id: string } & Views['RunRetry'] = {
    run_id: runId,
    fork_at_message_id: messageId,
    revision,
    ...(text.trim() !== '' && { input: { text } }),
    ...(sessionKey.trim() !== '' && { session_key: sessionKey.trim() }),
  };
  return (
    <ActionDialog
      label={isUsers ? own.messages.again : own.messages.fork}
      title={isUsers ? own.messages.againTitle : own.messages.forkTitle}
      submit={own.messages.submit}
      content={isUsers || text.trim() !== '' ? content : null}
      write={async (wanted, options) => {
        const run = await api.retryRun(wanted, options);
        setText('');
        await navigate({ to: '/w/$workspaceId/runs/$runId', params: { workspaceId, runId: run.id } });
      }}
    >
      <p>{isUsers ? own.messages.againHint : own.messages.forkHint}</p>
      <Area
        label={isUsers ? own.messages.newInput : own.messages.input}
        hint={isUsers ? own.messages.newInputHint : undefined}
        value={text}
        onChange={setText}
      />
      <RevisionChoice value={revision} onChange={setRevision} />
      <Field label={own.messages.sessionKey} value={sessionKey} onChange={setSessionKey} />
    </ActionDialog>
  );
}
