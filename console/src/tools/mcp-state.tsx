import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { Fault } from '../ui/notice.tsx';
import { Facts, Section } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { toolTexts as o } from './messages.ts';

/** Whether an MCP server answers, what the last look brought, and what is quarantined since. */
export function McpState({ toolkitId }: { readonly toolkitId: string }) {
  const maySync = useMay('admin');
  const queries = useQueryClient();
  const status = useQuery({
    queryKey: ['toolkit', toolkitId, 'status'],
    queryFn: ({ signal }) => api.getMcpToolkitStatus({ toolkit_id: toolkitId }, { signal }),
    refetchInterval: 5_000,
  });
  const sync = useIntent(async (content: { readonly toolkit_id: string }, options) => {
    await api.syncMcpToolkit(content, options);
    await queries.invalidateQueries({ queryKey: ['toolkit', toolkitId] });
  });
  const button = maySync && (
    <Button isPending={sync.isBusy} onPress={() => void sync.send({ toolkit_id: toolkitId })}>
      {o.sync}
    </Button>
  );
  const facts = status.data;
  return (
    <Section title={o.state} actions={button}>
      {sync.error !== null && <Fault error={sync.error} />}
      {status.error !== null && <Fault error={status.error} onRetry={() => void status.refetch()} />}
      {facts !== undefined && (
        <Facts
          facts={[
            [o.reachable, facts.reachable === null ? o.unknown : facts.reachable ? o.yes : o.no],
            [o.checked, facts.checked_at && <Time key="at" at={facts.checked_at} />],
            [o.lastSync, facts.last_sync && [facts.last_sync.state, facts.last_sync.error].filter(Boolean).join(': ')],
            [o.quarantined, facts.quarantined.join(', ') || null],
            [
              o.connections,
              facts.connections
                .map(({ principal, state, authorization_url }) =>
                  [principal.kind, state.replaceAll('_', ' '), ...(authorization_url ? [`${o.authorize} ${authorization_url}`] : [])].join(
                    ', ',
                  ),
                )
                .join('; ') || null,
            ],
          ]}
        />
      )}
    </Section>
  );
}
