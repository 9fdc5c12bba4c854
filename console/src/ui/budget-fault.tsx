import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { navigation } from '../app/navigation.ts';
import { t } from '../messages/en.ts';
import { shortAmount } from './money.tsx';
import { Notice } from './message-box.tsx';
import { Time } from './time.tsx';

type Period = 'day' | 'month';

/** A budget is spent: which one, when its next window begins, and who can raise it. */
export function BudgetFault({ error }: { readonly error: ApiError }) {
  const { workspaceId } = useParams({ strict: false });
  const period = periodOf(error);
  return (
    <Notice tone="warn" text={period === null ? error.detail : t.faults.budget(period)} correlationId={error.correlationId}>
      {workspaceId !== undefined && period !== null && <Window workspaceId={workspaceId} period={period} />}
      <p>
        {t.faults.budgetKept} {workspaceId !== undefined && <Raise workspaceId={workspaceId} />}
      </p>
    </Notice>
  );
}

function periodOf({ context }: ApiError): Period | null {
  const named = context['period'] ?? context['reason'];
  return named === 'day' || named === 'month' ? named : null;
}

function Window({ workspaceId, period }: { readonly workspaceId: string; readonly period: Period }) {
  const { data } = useQuery({
    queryKey: ['budget', workspaceId, period],
    queryFn: ({ signal }) => api.getBudgetStatus({ workspace_id: workspaceId, period }, { signal }),
  });
  if (data === undefined) return null;
  return (
    <p>
      {data.limit_amount !== null && t.faults.budgetSpent(shortAmount(data.spent), shortAmount(data.limit_amount), data.currency)}{' '}
      {t.faults.budgetTurns} <Time at={data.window_end} />.
    </p>
  );
}

/** By role: the way to the budgets, or who has it. */
function Raise({ workspaceId }: { readonly workspaceId: string }) {
  const mayRaise = useMay('admin');
  const view = navigation.flatMap(({ links }) => links).find(({ to }) => to.endsWith('/budgets'));
  if (!mayRaise) return t.faults.budgetAsk;
  if (view === undefined) return null;
  return (
    <Link to={view.to} params={{ workspaceId }}>
      {t.faults.budgetRaise}
    </Link>
  );
}
