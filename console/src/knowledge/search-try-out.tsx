import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { Field } from '../ui/fields.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { knowledgeTexts as k } from './messages.ts';

type Hit = Views['KnowledgeHit'];

const shown = (score: number | null) => score?.toFixed(3) ?? '–';
const ranked = (score: number | null, rank: number | null) => (rank === null ? shown(score) : `${shown(score)} (#${rank})`);

const columns: readonly Column<Hit>[] = [
  { id: 'passage', title: k.hit.passage, cell: ({ title, quote }) => (title === null ? quote : `${title}: ${quote}`) },
  { id: 'page', title: k.hit.page, align: 'end', cell: ({ page }) => page ?? '–' },
  { id: 'score', title: k.hit.score, align: 'end', cell: ({ score }) => shown(score) },
  { id: 'lexical', title: k.hit.lexical, align: 'end', cell: ({ score_parts: s }) => ranked(s.lexical, s.lexical_rank) },
  { id: 'vector', title: k.hit.vector, align: 'end', cell: ({ score_parts: s }) => ranked(s.vector, s.vector_rank) },
];

/** What an agent would find with a question, and how each half of the search rates it. */
export function SearchTryOut({ kbId }: { readonly kbId: string }) {
  const [query, setQuery] = useState('');
  const search = useMutation({ mutationFn: (text: string) => api.searchKnowledgeBase({ kb_id: kbId, query: text }) });
  return (
    <Section title={k.tryOut}>
      <Form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (query.trim() !== '') search.mutate(query.trim());
        }}
      >
        <Field label={k.query} value={query} onChange={setQuery} type="search" />
        <div className="actions">
          <Button type="submit" isPending={search.isPending} isDisabled={query.trim() === ''}>
            {k.find}
          </Button>
        </div>
      </Form>
      {search.error !== null && <Fault error={search.error} />}
      {search.data?.degraded.map(({ leg, reason }) => (
        <Notice key={leg} tone="warn" text={k.degraded(leg, reason)} />
      ))}
      {search.data !== undefined && <p role="status">{k.found(search.data.hits.length)}</p>}
      {search.data !== undefined && search.data.hits.length > 0 && (
        <Table label={k.tryOut} columns={columns} rows={search.data.hits} keyOf={({ chunk_id }) => chunk_id} />
      )}
    </Section>
  );
}
