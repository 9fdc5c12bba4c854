import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { Field } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import styles from './enrol-factor.module.css';
import { accountTexts as a } from './messages.ts';

/** A secret for the authenticator app, proved by a code. The recovery codes go to `onCodes`. */
export function EnrolFactor({ onCodes }: { readonly onCodes: (codes: readonly string[]) => void }) {
  const [enrolment, setEnrolment] = useState<Views['TotpEnrolmentView'] | null>(null);
  const [code, setCode] = useState('');
  const begin = useIntent(async () => setEnrolment(await api.enrolTotp({})));
  const confirm = useIntent(async (content: { readonly code: string }) => {
    const { codes } = await api.confirmTotp(content);
    setEnrolment(null);
    onCodes(codes);
  });
  if (enrolment === null)
    return (
      <>
        {begin.error !== null && <Fault error={begin.error} />}
        <div>
          <Button isPending={begin.isBusy} onPress={() => void begin.send({})}>
            {a.enrol}
          </Button>
        </div>
      </>
    );
  return (
    <Form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void confirm.send({ code: code.replaceAll(' ', '') });
      }}
    >
      <p>{a.secretText}</p>
      <p>
        <a href={enrolment.otpauth_uri}>{a.openApp}</a>
      </p>
      <p>
        {a.secret}: <code className={styles.secret}>{enrolment.secret}</code>
      </p>
      {confirm.error !== null && <Fault error={confirm.error} />}
      <Field label={a.code} value={code} onChange={setCode} inputMode="numeric" autoComplete="one-time-code" autoFocus />
      <div className="actions">
        <Button type="submit" className="react-aria-Button primary" isPending={confirm.isBusy} isDisabled={code.trim() === ''}>
          {a.confirm}
        </Button>
      </div>
    </Form>
  );
}
