import { useState } from 'react';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { approvalTexts } from './messages.ts';
import { Choice } from '../ui/choice.tsx';
import { Area } from '../ui/fields.tsx';
import { ArgsForm } from './args-form.tsx';
import { ArgsChanges } from './args-changes.tsx';
import { objectIn } from './args-text.ts';

interface EditArgsProps {
  readonly args: Readonly<Record<string, unknown>>;
  readonly isBusy: boolean;
  readonly onDone: (args: Record<string, unknown>) => void;
  readonly onCancel: () => void;
}

/** Other arguments than those that were asked for, as a form or as JSON, with what has been changed below. */
export function EditArgs({ args, isBusy, onDone, onCancel }: EditArgsProps) {
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const [text, setText] = useState(() => JSON.stringify(args, null, 2));
  const [isWrong, setWrong] = useState(false);
  const read = objectIn(text);
  const isValid = typeof read !== 'string';
  return (
    <div className="stack">
      <Choice
        label={approvalTexts.editAs}
        value={isValid ? mode : 'json'}
        onChange={setMode}
        options={[
          { id: 'form', label: approvalTexts.asForm },
          { id: 'json', label: approvalTexts.asJson },
        ]}
      />
      {mode === 'form' && isValid ? (
        <ArgsForm args={read} onChange={(next) => setText(JSON.stringify(next, null, 2))} onWrong={setWrong} />
      ) : (
        <Area
          label={approvalTexts.after}
          isMono
          rows={Math.min(20, text.split('\n').length + 1)}
          value={text}
          onChange={setText}
          error={isValid ? null : read}
          autoFocus
        />
      )}
      {isValid && <ArgsChanges before={args} after={read} />}
      <div className="actions">
        <Button
          className="react-aria-Button primary"
          isPending={isBusy}
          isDisabled={!isValid || (mode === 'form' && isWrong)}
          onPress={() => isValid && onDone(read)}
        >
          {approvalTexts.editDo}
        </Button>
        <Button onPress={onCancel}>{t.actions.cancel}</Button>
      </div>
    </div>
  );
}
