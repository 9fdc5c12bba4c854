import { useQuery } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { useMay, useMe } from '../app/access.ts';
import { api } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { peopleTexts as p } from './messages.ts';
import { PersonActions } from './person-actions.tsx';
import { ActiveState } from './people-columns.tsx';
import { personRoute } from './routes.ts';

/** One account, and what can be done about it. */
export function PersonPage() {
  const { userId, workspaceId } = personRoute.useParams();
  const me = useMe();
  const isAdmin = useMay('admin');
  const user = useQuery({ queryKey: ['user', userId], queryFn: ({ signal }) => api.getUser({ user_id: userId }, { signal }) });
  if (user.error instanceof ApiError && user.error.status === 404) return <NotFound />;
  if (user.data === undefined)
    return user.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={user.error} onRetry={() => void user.refetch()} />;
  const { full_name, email, role, scope, mfa_enabled, last_login_at, created_at, is_active } = user.data;
  return (
    <Page title={full_name ?? email} actions={<ActiveState isActive={is_active} />}>
      <Facts
        facts={[
          [p.facts.email, email],
          [p.facts.role, p.roles[role] ?? role],
          [p.facts.scope, p.scopes[scope]],
          [p.facts.mfa, mfa_enabled ? p.yes : p.no],
          [p.facts.last, last_login_at === null ? p.never : <Time key="last" at={last_login_at} />],
          [p.facts.created, <Time key="created" at={created_at} />],
        ]}
      />
      {me.user?.id === userId ? <p className="hint">{p.isYou}</p> : isAdmin && <PersonActions user={user.data} workspaceId={workspaceId} />}
    </Page>
  );
}
