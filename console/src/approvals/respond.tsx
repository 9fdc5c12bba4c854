import { useState } from 'react';
import { Button } from 'react-aria-components';
import { approvalTexts } from './messages.ts';
import { Area } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { valueIn } from './args-text.ts';
import { wantsText, type Question } from './question.ts';

interface RespondProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly onDone: (response: unknown) => void;
}

/** The answer to a question of the agent: a text, or JSON where its schema wants more. */
export function Respond({ question, isBusy, onDone }: RespondProps) {
  const isText = wantsText(question.responseSchema);
  const [text, setText] = useState('');
  const [error, setError] = useState<string | null>(null);
  const done = () => {
    if (isText) return onDone(text);
    const value = valueIn(text);
    if (value === undefined) setError(approvalTexts.invalidJson);
    else onDone(value);
  };
  return (
    <div className="stack">
      <Area
        label={isText ? approvalTexts.response : approvalTexts.responseJson}
        isMono={!isText}
        rows={2}
        value={text}
        onChange={setText}
        error={error}
      />
      {!isText && question.responseSchema !== null && <Json value={question.responseSchema} label="Schema" />}
      <div className="actions">
        <Button className="react-aria-Button primary" isPending={isBusy} isDisabled={text.trim() === ''} onPress={done}>
          {approvalTexts.respond}
        </Button>
      </div>
    </div>
  );
}
