import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { shortAmount } from '../ui/money.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Status } from '../ui/status.tsx';
import { Table } from '../ui/table.tsx';
import { formatDuration } from '../ui/time.tsx';
import { Comparison } from './comparison.tsx';
import { evaluationTexts as e } from './messages.ts';
import { fixed, percent, withInterval } from './numbers.ts';
import { evaluationRoute } from './routes.ts';

type Detail = Views['EvaluationRunDetailView'];
type Result = NonNullable<Detail['results']>[number];
type EvaluatorRow = readonly [string, Detail['summary']['evaluators'][string]];
type TagRow = readonly [string, Detail['summary']['by_tag'][string]];

/** One evaluation: its numbers with their intervals, how it compares with its baseline, and each item down to its run. */
export function EvaluationPage() {
  const { workspaceId, evaluationId } = evaluationRoute.useParams();
  const evaluation = useQuery({
    queryKey: ['evaluations', 'one', evaluationId],
    queryFn: ({ signal }) => api.getEvaluation({ evaluation_run_id: evaluationId }, { signal }),
    refetchInterval: ({ state }) => (state.data?.summary.final === true ? false : 5_000),
  });
  if (evaluation.error instanceof ApiError && evaluation.error.status === 404) return <NotFound />;
  if (evaluation.data === undefined)
    return evaluation.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={evaluation.error} onRetry={() => void evaluation.refetch()} />
    );
  const { dataset_name, status, agent_id, summary, results = [] } = evaluation.data;
  const tags = Object.entries(summary.by_tag);
  return (
    <Page title={dataset_name ?? e.unnamed}>
      <Facts
        facts={[
          [e.facts.status, <Status key="status" status={status} />],
          ...(summary.failure === null ? [] : ([[e.facts.failure, summary.failure.message]] as const)),
          [
            e.facts.agent,
            <Link key="agent" to="/w/$workspaceId/agents/$agentId" params={{ workspaceId, agentId: agent_id }}>
              {agent_id}
            </Link>,
          ],
          [e.facts.items, e.of(summary.completed, summary.items)],
          [e.facts.errors, summary.errors],
          [e.facts.passed, withInterval(summary.pass_rate, summary.pass_ci)],
          [e.facts.score, fixed(summary.score_mean)],
          [e.facts.latency, summary.latency_ms.p50 === null ? null : formatDuration(summary.latency_ms.p50)],
          [e.facts.cost, shortAmount(summary.cost.total)],
        ]}
      />
      <Section title={e.evaluators}>
        <Table label={e.evaluators} columns={evaluatorColumns} rows={Object.entries(summary.evaluators)} keyOf={([key]) => key} />
      </Section>
      {summary.baseline !== null && <Comparison baseline={summary.baseline} workspaceId={workspaceId} />}
      {tags.length > 0 && (
        <Section title={e.tags}>
          <Table label={e.tags} columns={tagColumns} rows={tags} keyOf={([tag]) => tag} />
        </Section>
      )}
      <Section title={e.results}>
        {summary.results_truncated && <Notice tone="warn" text={e.truncated} />}
        <Table
          label={e.results}
          columns={resultColumns(workspaceId)}
          rows={results}
          keyOf={({ item_id, repetition }) => `${item_id} ${repetition}`}
        />
      </Section>
    </Page>
  );
}

const evaluatorColumns: readonly Column<EvaluatorRow>[] = [
  { id: 'key', title: e.evaluator.key, cell: ([key]) => key },
  { id: 'n', title: e.evaluator.n, align: 'end', cell: ([, { n }]) => n },
  { id: 'passed', title: e.evaluator.passed, align: 'end', cell: ([, { pass_rate }]) => percent(pass_rate) },
  { id: 'mean', title: e.evaluator.mean, align: 'end', cell: ([, { mean }]) => fixed(mean) },
  {
    id: 'interval',
    title: e.evaluator.interval,
    align: 'end',
    cell: ([, { ci }]) => (ci === null ? '–' : `${fixed(ci[0])} to ${fixed(ci[1])}`),
  },
  { id: 'errors', title: e.evaluator.errors, align: 'end', cell: ([, { errors }]) => errors },
];

const tagColumns: readonly Column<TagRow>[] = [
  { id: 'tag', title: e.tag.tag, cell: ([tag]) => tag },
  { id: 'n', title: e.tag.n, align: 'end', cell: ([, { n }]) => n },
  { id: 'passed', title: e.tag.passed, align: 'end', cell: ([, { pass_rate, pass_ci }]) => withInterval(pass_rate, pass_ci) },
];

function resultColumns(workspaceId: string): Column<Result>[] {
  const { result } = e;
  return [
    { id: 'item', title: result.item, cell: ({ item_id, repetition }) => (repetition > 1 ? `${item_id} (${repetition})` : item_id) },
    { id: 'status', title: result.status, cell: ({ status }) => <Status status={status} /> },
    { id: 'score', title: result.score, align: 'end', cell: ({ score }) => fixed(score) },
    { id: 'reason', title: result.reason, cell: ({ reason }) => reason },
    { id: 'output', title: result.output, cell: ({ output }) => output?.slice(0, 300) },
    {
      id: 'run',
      title: result.run,
      cell: ({ run_id }) =>
        run_id !== null && (
          <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run_id }}>
            {e.openRun}
          </Link>
        ),
    },
  ];
}
