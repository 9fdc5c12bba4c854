import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Fault } from '../ui/notice.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { knowledgeTexts as k } from './messages.ts';

type Item = Views['KnowledgeItemView'];

const columns: readonly Column<Item>[] = [
  { id: 'item', title: k.item.item, cell: ({ title, content }) => title ?? content.slice(0, 300) },
  { id: 'kind', title: k.item.kind, cell: ({ kind }) => kind },
  { id: 'origin', title: k.item.origin, cell: ({ origin }) => origin },
];
const decision: Column<Item> = { id: 'actions', title: k.item.actions, cell: ({ id }) => <Decide itemId={id} /> };

/** The items of a base on which nobody has decided yet. */
export function CurationQueue({ kbId }: { readonly kbId: string }) {
  const mayCurate = useMay('member');
  const list = usePagedList<Item>({
    queryKey: ['knowledge', 'queue', kbId],
    fetchPage: (cursor, signal) => api.listKnowledgeItems({ kb_id: kbId, curation_state: 'pending', cursor, limit: 50 }, { signal }),
  });
  return (
    <Section title={k.queue}>
      {list.rows.length > 0 && (
        <Table label={k.queue} columns={mayCurate ? [...columns, decision] : columns} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} />
    </Section>
  );
}

function Decide({ itemId }: { readonly itemId: string }) {
  const queries = useQueryClient();
  const curate = useIntent<'reviewed' | 'retired'>(async (curation_state, options) => {
    await api.curateKnowledgeItem({ item_id: itemId, curation_state }, options);
    await queries.invalidateQueries({ queryKey: ['knowledge'] });
  });
  return (
    <div className="actions">
      {curate.error !== null && <Fault error={curate.error} />}
      <Button isPending={curate.isBusy} onPress={() => void curate.send('reviewed')}>
        {k.approve}
      </Button>
      <Button isPending={curate.isBusy} onPress={() => void curate.send('retired')}>
        {k.retire}
      </Button>
    </div>
  );
}
