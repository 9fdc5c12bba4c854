import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormFields } from '../ui/form-fields.tsx';
import { Money } from '../ui/money.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { usageTexts as u } from './messages.ts';
import { AddPrice, ImportPrices } from './price-forms.tsx';
import { buckets } from './price-buckets.ts';
import { pricesRoute } from './routes.ts';

type Price = Views['PriceView'];

/** The prices in force now or on a day; operators add, import, and take back what is not in force yet. */
export function PricesPage() {
  const { workspaceId } = pricesRoute.useParams();
  const search = pricesRoute.useSearch();
  const navigate = useNavigate();
  const mayWrite = useMay('operator');
  const bucket = oneOf(buckets, search.bucket);
  const { model, at } = search;
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listPrices(
        {
          ...(model !== undefined && { model }),
          ...(bucket !== undefined && { bucket }),
          ...(at !== undefined && { at: new Date(`${at}T00:00:00`).toISOString() }),
          cursor,
          limit: 100,
        },
        { signal },
      ),
    [model, bucket, at],
  );
  const list = usePagedList<Price>({ queryKey: ['prices', search], fetchPage });
  const set = (name: keyof typeof search, value: string) =>
    void navigate({
      to: '/w/$workspaceId/prices',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page
      title={u.prices}
      actions={
        mayWrite && (
          <>
            <AddPrice />
            <ImportPrices />
          </>
        )
      }
    >
      <Filters label={u.filters}>
        <TypedFilter label={u.price.model} value={model ?? ''} onSettle={(value) => set('model', value)} />
        <Choice
          label={u.bucketLabel}
          value={bucket ?? ''}
          options={[{ id: '', label: u.any }, ...buckets.map((id) => ({ id, label: id.replaceAll('_', ' ') }))]}
          onChange={(value) => set('bucket', value)}
        />
        <FormFields
          fields={[{ kind: 'day', name: 'at', label: u.at }]}
          values={{ at: at ?? '' }}
          errors={{}}
          onChange={(_, value) => set('at', value)}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={u.prices} columns={columnsFor(mayWrite)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={Object.keys(search).length > 0} />
    </Page>
  );
}

function columnsFor(mayWrite: boolean): Column<Price>[] {
  const { price } = u;
  const columns: Column<Price>[] = [
    { id: 'model', title: price.model, cell: ({ model }) => model },
    { id: 'tier', title: price.tier, cell: ({ tier }) => tier },
    { id: 'bucket', title: price.bucket, cell: ({ bucket }) => bucket.replaceAll('_', ' ') },
    {
      id: 'price',
      title: price.price,
      align: 'end',
      cell: (row) => (
        <>
          <Money amount={row.price} currency={row.currency} /> <span className="hint">{u.per[row.unit]}</span>
        </>
      ),
    },
    { id: 'since', title: price.since, cell: ({ effective_from }) => <Time at={effective_from} /> },
    { id: 'source', title: price.source, cell: ({ source }) => source },
  ];
  return mayWrite ? [...columns, { id: 'actions', title: price.actions, cell: (row) => <DeletePrice price={row} /> }] : columns;
}

function DeletePrice({ price }: { readonly price: Price }) {
  const queries = useQueryClient();
  const now = useNow(false);
  if (Date.parse(price.effective_from) <= now) return null;
  return (
    <ActionDialog
      label={u.deletePrice}
      title={u.deletePriceTitle}
      submit={u.deletePriceSubmit}
      tone="danger"
      content={{ price_id: price.id }}
      write={(content) => api.deleteModelPrice(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['prices'] })}
    >
      <p>{u.deletePriceText}</p>
    </ActionDialog>
  );
}
