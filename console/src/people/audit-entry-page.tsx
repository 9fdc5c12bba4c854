import { useQuery } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { api } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { peopleTexts as p } from './messages.ts';
import { auditEntryRoute } from './routes.ts';

/** One entry, with what it changed. */
export function AuditEntryPage() {
  const { entryId } = auditEntryRoute.useParams();
  const entry = useQuery({
    queryKey: ['audit-entry', entryId],
    queryFn: ({ signal }) => api.getAuditEntry({ entry_id: entryId }, { signal }),
  });
  if (entry.error instanceof ApiError && entry.error.status === 404) return <NotFound />;
  if (entry.data === undefined)
    return entry.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={entry.error} onRetry={() => void entry.refetch()} />
    );
  const row = entry.data;
  const f = p.entryFacts;
  return (
    <Page title={p.entryTitle(row.action, row.resource_type)}>
      <Facts
        facts={[
          [f.at, <Time key="at" at={row.created_at} />],
          [f.who, [row.actor_kind.replaceAll('_', ' '), row.actor_role, row.actor_id].filter(Boolean).join(', ')],
          [f.as, row.acting_user_id],
          [f.what, row.resource_label ?? row.resource_id],
          [f.outcome, row.outcome],
          [f.operation, row.operation_id],
          [f.correlation, row.correlation_id],
          [f.ip, row.ip],
          [f.agent, row.user_agent],
          [f.seq, row.seq === null ? null : String(row.seq)],
        ]}
      />
      <Section title={p.changes}>
        <Json value={row.changes} label={p.changes} />
      </Section>
    </Page>
  );
}
