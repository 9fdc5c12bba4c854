import { useNavigate } from '@tanstack/react-router';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { listIn } from '../ui/read-json.ts';
import { evaluationTexts as e } from './messages.ts';

interface CreateEvaluationProps {
  readonly workspaceId: string;
  readonly agents: readonly Views['AgentView'][];
  /** What a new one can be compared with. */
  readonly earlier: readonly Views['EvaluationRunView'][];
}

const items = JSON.stringify([{ id: 'first', input: 'Say hello.', expected: 'hello' }], null, 2);
const evaluators = JSON.stringify([{ key: 'has', type: 'contains' }], null, 2);

/** Starts an evaluation of an agent on items that are typed in, and opens it. */
export function CreateEvaluation({ workspaceId, agents, earlier }: CreateEvaluationProps) {
  const navigate = useNavigate();
  const { fields } = e;
  return (
    <FormDialog
      label={e.create}
      title={e.createTitle}
      submit={e.createSubmit}
      isPrimary
      initial={{
        'agent_id': agents[0]?.id ?? '',
        'dataset.items': items,
        evaluators,
        'repetitions': '1',
        'baseline_evaluation_run_id': '',
      }}
      fields={({ agent_id }) => [
        { name: 'dataset_name', label: fields.name },
        {
          kind: 'choice',
          name: 'agent_id',
          label: fields.agent,
          options: agents.map(({ id, name, slug }) => ({ id, label: `${name} (${slug})` })),
        },
        { kind: 'area', name: 'dataset.items', label: fields.items, hint: fields.itemsHint, isMono: true, rows: 8 },
        { kind: 'area', name: 'evaluators', label: fields.evaluators, hint: fields.evaluatorsHint, isMono: true, rows: 6 },
        { name: 'repetitions', label: fields.repetitions, inputMode: 'numeric' },
        { name: 'max_cost', label: fields.maxCost },
        {
          kind: 'choice',
          name: 'baseline_evaluation_run_id',
          label: fields.baseline,
          options: [{ id: '', label: fields.noBaseline }, ...comparable(earlier, agent_id)],
        },
      ]}
      toContent={(v) => {
        const [dataset, scored] = [listIn(v['dataset.items'] ?? ''), listIn(v['evaluators'] ?? '')];
        if (!v['agent_id'] || dataset === null || scored === null) return null;
        return {
          agent_id: v['agent_id'],
          dataset_name: v['dataset_name']?.trim() || null,
          dataset: { items: dataset },
          evaluators: scored,
          repetitions: Number(v['repetitions'] || 1),
          max_cost: v['max_cost']?.trim() || null,
          baseline_evaluation_run_id: v['baseline_evaluation_run_id'] || null,
        };
      }}
      write={async (content, options) => {
        // The server checks what was typed as JSON, and says at which field it is wrong.
        const { id } = await api.createEvaluation(content as Parameters<typeof api.createEvaluation>[0], options);
        await navigate({ to: '/w/$workspaceId/evaluations/$evaluationId', params: { workspaceId, evaluationId: id } });
      }}
    />
  );
}

function comparable(earlier: readonly Views['EvaluationRunView'][], agentId: string | undefined) {
  return earlier
    .filter(({ agent_id, status }) => agent_id === agentId && status === 'succeeded')
    .map(({ id, dataset_name, created_at }) => ({ id, label: `${dataset_name ?? e.unnamed}, ${new Date(created_at).toLocaleString()}` }));
}
