import { useQueryClient, useQueryErrorResetBoundary } from '@tanstack/react-query';
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Fault } from '../ui/notice.tsx';
import { useTitle } from './card-page.tsx';

export function NotFound() {
  useTitle(t.faults.notFoundTitle);
  return (
    <div className="stack">
      <h1>{t.faults.notFoundTitle}</h1>
      <p>{t.faults.notFound}</p>
      <p>
        <a href="/console">{t.nav.runs}</a>
      </p>
    </div>
  );
}

/** An exception in a view takes that view alone; trying again reads anew what it was made of. */
export function ViewFault({ error, reset }: ErrorComponentProps) {
  const errors = useQueryErrorResetBoundary();
  const queries = useQueryClient();
  const router = useRouter();
  const again = () => {
    errors.reset();
    // What nobody shows now was the view's: it may be what it failed over.
    queries.removeQueries({ type: 'inactive' });
    reset();
    void router.invalidate();
  };
  return (
    <div className="stack">
      <h1>{t.faults.viewTitle}</h1>
      <p>{t.faults.view}</p>
      <Fault error={error} onRetry={again} />
      {error instanceof ApiError && !error.retryable && <Button onPress={again}>{t.actions.retry}</Button>}
    </div>
  );
}
