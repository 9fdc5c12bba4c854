import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page } from '../ui/page.tsx';
import { knowledgeTexts as k } from './messages.ts';
import { CurationQueue } from './queue.tsx';
import { baseRoute } from './routes.ts';
import { SearchTryOut } from './search-try-out.tsx';
import { Sources } from './sources.tsx';

/** One knowledge base: what it holds, where that came from, what a search finds in it and what waits for a curator. */
export function BasePage() {
  const { kbId } = baseRoute.useParams();
  const mayWrite = useMay('member');
  const base = useQuery({
    queryKey: ['knowledge', 'base', kbId],
    queryFn: ({ signal }) => api.getKnowledgeBase({ kb_id: kbId }, { signal }),
  });
  const stats = useQuery({
    queryKey: ['knowledge', 'stats', kbId],
    queryFn: ({ signal }) => api.getKnowledgeBaseStats({ kb_id: kbId }, { signal }),
    refetchInterval: 5_000,
  });
  if (base.error instanceof ApiError && base.error.status === 404) return <NotFound />;
  if (base.data === undefined)
    return base.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={base.error} onRetry={() => void base.refetch()} />;
  const { name, slug, embedding_model, item_count } = base.data;
  return (
    <Page title={name} actions={mayWrite && <EditBase kbId={kbId} />}>
      <Facts
        facts={[
          [k.facts.slug, <code key="slug">{slug}</code>],
          [k.facts.model, embedding_model],
          [k.facts.state, stats.data?.state],
          [k.facts.items, item_count],
          [k.facts.chunks, stats.data?.chunk_count],
          [k.facts.tokens, stats.data?.token_count],
        ]}
      />
      <Sources kbId={kbId} />
      <SearchTryOut kbId={kbId} />
      <CurationQueue kbId={kbId} />
    </Page>
  );
}

function EditBase({ kbId }: { readonly kbId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={k.edit}
      title={k.editTitle}
      submit={k.save}
      fields={[{ name: 'name', label: k.fields.name }]}
      read={async () => {
        const now = await api.getKnowledgeBase({ kb_id: kbId });
        return { values: { name: now.name }, etag: etagOf(now) };
      }}
      toContent={({ name }) => (name?.trim() ? { kb_id: kbId, name: name.trim() } : null)}
      write={(content, options) => api.updateKnowledgeBase(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['knowledge'] })}
    />
  );
}
