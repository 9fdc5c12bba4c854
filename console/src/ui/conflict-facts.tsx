import { Link, useParams } from '@tanstack/react-router';
import type { ApiError } from '@longhaul/client';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { AnsweredBy } from './answered-by.tsx';
import { Status } from './status.tsx';
import { Time } from './time.tsx';

/** What a conflict says about the present state: who was faster, what it is now, and where to look. */
export function ConflictFacts({ error: { context } }: { readonly error: ApiError }) {
  const { workspaceId } = useParams({ strict: false });
  const approval = viewIn<Views['ApprovalView']>(context['approval']);
  const run = viewIn<Views['RunView']>(context['run']);
  const runId = run?.id ?? (typeof context['run_id'] === 'string' ? context['run_id'] : null);
  const state = context['state'] ?? context['status'];
  return (
    <>
      {approval !== null && approval.status !== 'pending' && <Answered approval={approval} />}
      {run !== null && (
        <p>
          {t.faults.nowIs} <Status status={run.status} />
        </p>
      )}
      {typeof state === 'string' && (
        <p>
          {t.faults.nowIs} <Status status={state} />
        </p>
      )}
      {workspaceId !== undefined && runId !== null && (
        <p>
          <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId }}>
            {t.faults.openRun}
          </Link>
        </p>
      )}
    </>
  );
}

function Answered({ approval }: { readonly approval: Views['ApprovalView'] }) {
  return (
    <p>
      <AnsweredBy resolver={approval.resolved_by} decision={approval.status} />
      {approval.comment !== null && <q>{approval.comment}</q>} {approval.resolved_at !== null && <Time at={approval.resolved_at} />}
    </p>
  );
}

/** The context of an error is open; an object with an id is the view that the code's description names. */
function viewIn<View extends { readonly id: string }>(value: unknown): View | null {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string' ? (value as View) : null;
}
