import type { ErrorComponentProps } from '@tanstack/react-router';
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

/** An exception in a view takes that view alone. */
export function ViewFault({ error, reset }: ErrorComponentProps) {
  return (
    <div className="stack">
      <p>{t.faults.view}</p>
      <Fault error={error} onRetry={reset} />
    </div>
  );
}
