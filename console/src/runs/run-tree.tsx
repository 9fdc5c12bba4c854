import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Money } from '../ui/money.tsx';
import { Fault } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { Countdown } from '../ui/time.tsx';
import { t as own } from './messages.ts';
import { isRunLive } from './run-filters.ts';
import styles from './run.module.css';

type Run = Views['RunView'];

const pollMs = 5_000;

/** The tree that a run is part of, from its root, with what each of its runs costs by itself and with all below it. */
export function RunTree({ run, workspaceId }: { readonly run: Run; readonly workspaceId: string }) {
  const isRoot = run.root_run_id === run.id;
  const root = useQuery({
    queryKey: ['run', run.root_run_id],
    queryFn: ({ signal }) => api.getRun({ run_id: run.root_run_id }, { signal }),
    enabled: !isRoot,
    refetchInterval: ({ state }) => (state.data === undefined || isRunLive(state.data.status) ? pollMs : false),
  });
  const top = isRoot ? run : root.data;
  if (root.error !== null) return <Fault error={root.error} onRetry={() => void root.refetch()} />;
  if (top === undefined) return <p role="status">{t.list.loading}</p>;
  return (
    <ul className={styles.tree} aria-label={own.tabs.tree}>
      <Node run={top} currentId={run.id} workspaceId={workspaceId} />
    </ul>
  );
}

interface NodeProps {
  readonly run: Run;
  readonly currentId: string;
  readonly workspaceId: string;
}

function Node({ run, currentId, workspaceId }: NodeProps) {
  const children = useQuery({
    queryKey: ['run', run.id, 'children'],
    queryFn: async ({ signal }) => (await api.listRuns({ parent_run_id: run.id, limit: 200 }, { signal })).items.toReversed(),
    refetchInterval: isRunLive(run.status) ? pollMs : false,
  });
  return (
    <li>
      <div className={styles.node}>
        {run.id === currentId ? (
          <strong>{`${run.agent_slug} (${own.tree.here})`}</strong>
        ) : (
          <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.id }}>
            {run.agent_slug}
          </Link>
        )}
        <Status status={run.status} />
        {run.waiting_on !== null && (
          <span className="hint">
            {t.run.waits(t.waitingOn[run.waiting_on] ?? run.waiting_on)}
            {run.waiting_until !== null && (
              <>
                , <Countdown to={run.waiting_until} />
              </>
            )}
          </span>
        )}
        {run.pending_approvals > 0 && <span className="hint">{own.tree.pending(run.pending_approvals)}</span>}
        <span className="hint">
          {own.tree.own} <Money amount={run.usage.own.cost_amount} currency={run.usage.own.currency} />, {own.tree.subtree}{' '}
          <Money amount={run.usage.subtree.cost_amount} currency={run.usage.subtree.currency} />
        </span>
      </div>
      {children.error !== null && <Fault error={children.error} onRetry={() => void children.refetch()} />}
      {children.data !== undefined && children.data.length > 0 && (
        <ul>
          {children.data.map((child) => (
            <Node key={child.id} run={child} currentId={currentId} workspaceId={workspaceId} />
          ))}
        </ul>
      )}
      {children.data?.length === 0 && run.id === currentId && <p className="hint">{own.tree.none}</p>}
    </li>
  );
}
