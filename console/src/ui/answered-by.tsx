import { useQuery } from '@tanstack/react-query';
import { useMe } from '../app/access.ts';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';

interface AnsweredByProps {
  readonly resolver: { readonly kind: string; readonly id: string | null } | null;
  readonly decision: string;
}

/** Who has answered a question, and how: a name where the role may know it. */
export function AnsweredBy({ resolver, decision }: AnsweredByProps) {
  const me = useMe();
  const userId = resolver?.kind === 'user' ? resolver.id : null;
  const { data } = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => api.getUser({ user_id: userId ?? '' }, { signal }),
    enabled: userId !== null && userId !== me.user?.id,
    retry: false,
    staleTime: 60_000,
  });
  const name = userId !== null && userId === me.user?.id ? t.faults.you : (data?.full_name ?? data?.email ?? t.faults.somebody);
  return t.faults.answeredBy(resolver?.kind === 'system' ? t.faults.nobody : name, t.status[decision] ?? decision);
}
