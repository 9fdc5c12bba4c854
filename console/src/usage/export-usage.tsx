import { useState } from 'react';
import { api } from '../app/api.ts';
import { thrownFor } from '../app/problem.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { usageTexts as u } from './messages.ts';
import type { UsageSpan } from './usage-panel.tsx';

/** The ledger as a file. */
export function ExportUsage({ span }: { readonly span: UsageSpan }) {
  const [format, setFormat] = useState<'csv' | 'ndjson'>('csv');
  return (
    <ActionDialog
      label={u.export}
      title={u.exportTitle}
      submit={u.exportSubmit}
      content={{ ...span, format }}
      write={async (content) => {
        const answer = await api.exportUsage(content);
        if (!answer.ok) throw await thrownFor(answer);
        saveFile(`usage-${span.from.slice(0, 10)}-${span.to.slice(0, 10)}.${format}`, await answer.blob());
      }}
    >
      <p>{u.exportText}</p>
      <Choice
        label={u.format}
        value={format}
        onChange={setFormat}
        options={[
          { id: 'csv', label: 'CSV' },
          { id: 'ndjson', label: 'NDJSON' },
        ]}
      />
    </ActionDialog>
  );
}
