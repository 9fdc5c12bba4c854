import { useQuery } from '@tanstack/react-query';
import { approvalTexts } from './messages.ts';
import styles from './approvals.module.css';
import { pendingRunsQuery } from './pending.ts';

/** How many questions wait; nothing where none does. */
export function PendingCount({ workspaceId }: { readonly workspaceId: string }) {
  const { data = [] } = useQuery(pendingRunsQuery(workspaceId));
  const count = data.reduce((sum, run) => sum + run.pending_approvals, 0);
  if (count === 0) return null;
  return (
    <span className={styles.count} title={approvalTexts.pending(count)}>
      <span aria-hidden="true">{count}</span>
      <span className="hidden">{approvalTexts.pending(count)}</span>
    </span>
  );
}
