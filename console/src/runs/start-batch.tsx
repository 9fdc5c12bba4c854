import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { useDraft } from '../ui/draft.ts';
import { Area } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { t as own } from './messages.ts';

const most = 100;

interface StartBatchProps {
  readonly workspaceId: string;
  readonly agents: readonly Views['AgentView'][];
}

/** Starts many runs of an agent, and says what became of each start. */
export function StartBatch({ workspaceId, agents }: StartBatchProps) {
  const usable = agents.filter(
    ({ active_revision_id, workspace_id, is_active }) =>
      is_active && active_revision_id !== null && (workspace_id === null || workspace_id === workspaceId),
  );
  return (
    <DialogTrigger>
      <Button>{own.batch.open}</Button>
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            {({ close }) => (
              <>
                <Heading slot="title" level={2}>
                  {own.batch.title}
                </Heading>
                {usable.length === 0 ? (
                  <p>{own.batch.noAgents}</p>
                ) : (
                  <BatchForm workspaceId={workspaceId} agents={usable} onClose={close} />
                )}
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function BatchForm({ workspaceId, agents, onClose }: StartBatchProps & { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const [agentId, setAgentId] = useState(agents[0]?.id ?? '');
  const [text, setText] = useDraft(`batch:${workspaceId}`);
  const [outcome, setOutcome] = useState<Views['RunBatchView'] | null>(null);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const { send, isBusy, error } = useIntent(async (items: Views['RunBatchCreate']['items'], options) =>
    setOutcome(await api.createRunBatch({ items }, options)),
  );
  const start = async () => {
    const isDone = await send(lines.map((line) => ({ workspace_id: workspaceId, agent_id: agentId, input: { text: line } })));
    if (isDone) setText('');
    await queries.invalidateQueries({ queryKey: ['runs'] });
  };
  if (outcome !== null) return <Outcomes outcome={outcome} workspaceId={workspaceId} onClose={onClose} />;
  return (
    <Form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {error !== null && <Fault error={error} />}
      <Choice label={own.batch.agent} value={agentId} options={agents.map(({ id, name }) => ({ id, label: name }))} onChange={setAgentId} />
      <Area label={own.batch.inputs} hint={own.batch.hint(most)} rows={6} value={text} onChange={setText} />
      <div className="actions">
        <Button
          type="submit"
          className="react-aria-Button primary"
          isPending={isBusy}
          isDisabled={lines.length === 0 || lines.length > most}
        >
          {own.batch.submit(lines.length)}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </Form>
  );
}

interface OutcomesProps {
  readonly outcome: Views['RunBatchView'];
  readonly workspaceId: string;
  readonly onClose: () => void;
}

function Outcomes({ outcome, workspaceId, onClose }: OutcomesProps) {
  return (
    <>
      <p role="status">{own.batch.outcome(outcome.created, outcome.failed)}</p>
      <ol className="stack">
        {outcome.items.map(({ index, run, error }) => (
          <li key={index}>
            {run !== null && (
              <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.id }} onClick={onClose}>
                {run.input.text ?? run.id}
              </Link>
            )}
            {error !== null && <span>{`${index + 1}: ${error.detail}`}</span>}
          </li>
        ))}
      </ol>
      <Button slot="close">{t.actions.close}</Button>
    </>
  );
}
