import { Link } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { triggerTexts as x } from './messages.ts';

/** The run that something has started; null: none. */
export function RunLink({ runId }: { readonly runId: string | null }) {
  const { workspaceId } = workspaceRoute.useParams();
  if (runId === null) return '–';
  return (
    <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId }}>
      {x.openRun}
    </Link>
  );
}
