import { usePrefetchQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Fragment, lazy, Suspense, type ReactNode } from 'react';
import { t } from '../messages/en.ts';
import { Banner } from './banner.tsx';
import { impersonation, view } from './standing.ts';
import { meQuery, workspacesQuery } from './queries.ts';
import { session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useStore } from './use-store.ts';

const EnrolFirst = lazy(() => import('../account/enrol-first.tsx').then(({ EnrolFirst }) => ({ default: EnrolFirst })));
const StepUp = lazy(() => import('./step-up.tsx').then(({ StepUp }) => ({ default: StepUp })));

/** Shows what is inside to those who are signed in, and the sign-in to all others; the address stays, so it leads back. */
export function Gate({ children }: { readonly children: ReactNode }) {
  const state = useStore(session);
  const acting = useStore(impersonation);
  const narrowing = useStore(view);
  return (
    <>
      <Banner />
      {state.kind === 'starting' && <Waiting />}
      {state.kind === 'out' && <SignIn reason={state.reason} />}
      {state.kind === 'in' && (
        <Fragment key={`${state.userId} ${acting?.impersonation.id ?? ''} ${narrowing?.organizationId ?? ''}`}>
          <Suspense fallback={<Waiting />}>
            <Loaded>{children}</Loaded>
          </Suspense>
          {/* beside it, since what loads may itself ask for a factor */}
          <Suspense fallback={null}>
            <StepUp />
          </Suspense>
        </Fragment>
      )}
    </>
  );
}

function Loaded({ children }: { readonly children: ReactNode }) {
  usePrefetchQuery(workspacesQuery);
  const { mfa } = useSuspenseQuery(meQuery).data;
  return mfa !== null && mfa.required && !mfa.enrolled ? <EnrolFirst /> : <WithWorkspaces>{children}</WithWorkspaces>;
}

function WithWorkspaces({ children }: { readonly children: ReactNode }) {
  useSuspenseQuery(workspacesQuery);
  return children;
}

function Waiting() {
  return (
    <p className="waiting" role="status">
      {t.list.loading}
    </p>
  );
}
