import { useSuspenseQueries } from '@tanstack/react-query';
import { lazy, Suspense, type ReactNode } from 'react';
import { t } from '../messages/en.ts';
import { Banner } from './banner.tsx';
import { meQuery, workspacesQuery } from './queries.ts';
import { session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useStore } from './use-store.ts';

const StepUp = lazy(() => import('./step-up.tsx').then(({ StepUp }) => ({ default: StepUp })));

/** Shows what is inside to those who are signed in, and the sign-in to all others; the address stays, so it leads back. */
export function Gate({ children }: { readonly children: ReactNode }) {
  const state = useStore(session);
  return (
    <>
      <Banner />
      {state.kind === 'starting' && <Waiting />}
      {state.kind === 'out' && <SignIn reason={state.reason} />}
      {state.kind === 'in' && (
        <Suspense key={state.userId} fallback={<Waiting />}>
          <Loaded>{children}</Loaded>
          <StepUp />
        </Suspense>
      )}
    </>
  );
}

function Loaded({ children }: { readonly children: ReactNode }) {
  useSuspenseQueries({ queries: [meQuery, workspacesQuery] });
  return children;
}

function Waiting() {
  return (
    <p className="waiting" role="status">
      {t.list.loading}
    </p>
  );
}
