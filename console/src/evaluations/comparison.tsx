import { Link } from '@tanstack/react-router';
import type { Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Facts, Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { evaluationTexts as e } from './messages.ts';
import { fixed, withInterval } from './numbers.ts';

type Baseline = NonNullable<Views['EvaluationRunDetailView']['summary']['baseline']>;
type Row = readonly [string, Baseline['evaluators'][string]];

const columns: readonly Column<Row>[] = [
  { id: 'key', title: e.byEvaluator.key, cell: ([key]) => key },
  { id: 'paired', title: e.byEvaluator.paired, align: 'end', cell: ([, { paired_n }]) => paired_n },
  { id: 'delta', title: e.byEvaluator.delta, align: 'end', cell: ([, { delta, ci }]) => withInterval(delta, ci) },
  { id: 'q', title: e.byEvaluator.q, align: 'end', cell: ([, { q_value }]) => fixed(q_value) },
  { id: 'conclusion', title: e.byEvaluator.conclusion, cell: ([, { conclusion }]) => e.conclusions[conclusion] ?? conclusion },
];

/** What an evaluation says against an earlier one on the same items. */
export function Comparison({ baseline, workspaceId }: { readonly baseline: Baseline; readonly workspaceId: string }) {
  const { compared } = e;
  return (
    <Section title={e.comparison}>
      <p>{e.conclusions[baseline.conclusion] ?? baseline.conclusion}</p>
      <Facts
        facts={[
          [compared.paired, baseline.paired_n],
          [compared.delta, withInterval(baseline.delta, baseline.ci)],
          [compared.wins, baseline.wins],
          [compared.losses, baseline.losses],
          [compared.ties, baseline.ties],
          [compared.p, fixed(baseline.p_value)],
          [
            compared.baseline,
            <Link
              key="baseline"
              to="/w/$workspaceId/evaluations/$evaluationId"
              params={{ workspaceId, evaluationId: baseline.evaluation_run_id }}
            >
              {e.openBaseline}
            </Link>,
          ],
        ]}
      />
      <Table label={e.comparison} columns={columns} rows={Object.entries(baseline.evaluators)} keyOf={([key]) => key} />
    </Section>
  );
}
