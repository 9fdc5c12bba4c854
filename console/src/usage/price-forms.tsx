import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Area } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { listIn } from '../ui/read-json.ts';
import { useIntent } from '../ui/use-intent.ts';
import { usageTexts as u } from './messages.ts';
import { buckets } from './price-buckets.ts';

/** One more price, in force now or from a day on. */
export function AddPrice() {
  const queries = useQueryClient();
  return (
    <FormDialog<Views['PriceCreate']>
      label={u.addPrice}
      title={u.addPriceTitle}
      submit={t.actions.save}
      intro={<p>{u.addPriceText}</p>}
      fields={[
        { name: 'model', label: u.price.model },
        { name: 'tier', label: u.price.tier },
        { kind: 'choice', name: 'bucket', label: u.bucketLabel, options: buckets.map((id) => ({ id, label: id.replaceAll('_', ' ') })) },
        { name: 'price', label: u.price.price },
        { name: 'currency', label: u.fields.currency },
        { kind: 'day', name: 'effective_from', label: u.effective },
        { name: 'source', label: u.price.source },
        { kind: 'check', name: 'confirm_unusual', label: u.unusual },
      ]}
      initial={{ tier: 'standard', bucket: 'input', currency: 'USD' }}
      toContent={({ model = '', tier = '', bucket, price = '', currency = '', effective_from = '', source = '', confirm_unusual }) => {
        const found = buckets.find((one) => one === bucket);
        if (model.trim() === '' || price.trim() === '' || found === undefined) return null;
        return {
          model: model.trim(),
          ...(tier.trim() !== '' && { tier: tier.trim() }),
          bucket: found,
          price: price.trim(),
          ...(currency.trim() !== '' && { currency: currency.trim().toUpperCase() }),
          ...(effective_from !== '' && { effective_from: new Date(`${effective_from}T00:00:00`).toISOString() }),
          ...(source.trim() !== '' && { source: source.trim() }),
          confirm_unusual: confirm_unusual === 'true',
        };
      }}
      write={(content, options) => api.createModelPrice(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['prices'] })}
    />
  );
}

/** Many prices at once; a try goes before. */
export function ImportPrices() {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const [outcome, setOutcome] = useState<Views['PriceImportView'] | null>(null);
  const rows = rowsIn(text);
  const attempt = useIntent(async (dryRows: Views['PriceImport']['rows'], options) =>
    setOutcome(await api.importModelPrices({ rows: dryRows, dry_run: true }, options)),
  );
  return (
    <ActionDialog
      label={u.importPrices}
      title={u.importTitle}
      submit={u.importDo}
      content={rows === null || outcome === null ? null : { rows }}
      write={async (content, options) => setOutcome(await api.importModelPrices(content, options))}
      onOpen={() => setOutcome(null)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['prices'] })}
    >
      <p>{u.importText}</p>
      <Area
        label={u.importRows}
        value={text}
        onChange={(next) => {
          setText(next);
          setOutcome(null);
        }}
        rows={8}
        isMono
        error={text !== '' && rows === null ? u.importNotJson : null}
      />
      {attempt.error !== null && <Fault error={attempt.error} />}
      {outcome !== null && <Outcome outcome={outcome} />}
      <div>
        <Button isDisabled={rows === null} isPending={attempt.isBusy} onPress={() => rows !== null && void attempt.send(rows)}>
          {u.importTry}
        </Button>
      </div>
    </ActionDialog>
  );
}

function Outcome({ outcome: { dry_run, created, unchanged, rejected, rows } }: { readonly outcome: Views['PriceImportView'] }) {
  return (
    <Notice
      tone={rejected > 0 ? 'warn' : 'plain'}
      text={`${dry_run ? u.wouldImport : u.didImport}${u.imported(created, unchanged, rejected)}`}
      detail={rows.flatMap(({ index, error }) => (error ? [`${index}: ${error.message}`] : []))}
    />
  );
}

function rowsIn(text: string): Views['PriceImport']['rows'] | null {
  return listIn(text) as Views['PriceImport']['rows'] | null; // the server checks each
}
