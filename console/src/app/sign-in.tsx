import { useState, type FormEvent } from 'react';
import { Button, Form } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Field } from '../ui/fields.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { CardPage } from './card-page.tsx';
import { publicPost } from './public-post.ts';
import { session, type SignedOutReason, type Tokens } from './session.ts';

interface Login {
  readonly mfa_required: boolean;
  readonly challenge_id: string | null;
}

/** Password, then the second factor of those who have one. */
export function SignIn({ reason }: { readonly reason: SignedOutReason }) {
  const [challenge, setChallenge] = useState<string | null>(null);
  const accept = (login: Login & Partial<Tokens>) => {
    if (login.mfa_required) setChallenge(login.challenge_id);
    else session.signedIn(login as Tokens); // a login without a challenge has them
  };
  return challenge === null ? (
    <Password reason={reason} onAnswer={accept} />
  ) : (
    <SecondFactor challenge={challenge} onBack={() => setChallenge(null)} />
  );
}

function Password({ reason, onAnswer }: { readonly reason: SignedOutReason; readonly onAnswer: (login: Login & Partial<Tokens>) => void }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      onAnswer(await publicPost<Login & Partial<Tokens>>('/auth/login', { email, password, device_label: deviceLabel() }));
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <CardPage title={t.signIn.title}>
      {reason && <Notice tone="plain" text={t.signIn.reason[reason] ?? ''} />}
      {error !== null && <Fault error={error} />}
      <Form onSubmit={(event) => void submit(event)} className="stack">
        <Field label={t.signIn.email} type="email" value={email} onChange={setEmail} autoComplete="username" isRequired autoFocus />
        <Field
          label={t.signIn.password}
          type="password"
          value={password}
          onChange={setPassword}
          autoComplete="current-password"
          isRequired
        />
        <Button type="submit" className="react-aria-Button primary" isPending={isBusy} isDisabled={email === '' || password === ''}>
          {isBusy ? t.signIn.busy : t.signIn.submit}
        </Button>
      </Form>
      <a href="/console/forgot">{t.signIn.forgot}</a>
    </CardPage>
  );
}

function SecondFactor({ challenge, onBack }: { readonly challenge: string; readonly onBack: () => void }) {
  const [method, setMethod] = useState<'totp' | 'recovery_code'>('totp');
  const [code, setCode] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      session.signedIn(await publicPost<Tokens>('/auth/mfa/verify', { challenge_id: challenge, method, code: code.trim() }));
    } catch (thrown) {
      setError(thrown);
      setCode('');
      setBusy(false);
    }
  };
  const isTotp = method === 'totp';
  return (
    <CardPage title={t.signIn.secondTitle}>
      {error !== null && <Fault error={error} />}
      <Form onSubmit={(event) => void submit(event)} className="stack">
        <Field
          key={method}
          label={isTotp ? t.signIn.code : t.signIn.recovery}
          hint={isTotp ? t.signIn.codeHint : t.signIn.recoveryHint}
          value={code}
          onChange={setCode}
          autoComplete="one-time-code"
          inputMode={isTotp ? 'numeric' : 'text'}
          isRequired
          autoFocus
        />
        <Button type="submit" className="react-aria-Button primary" isPending={isBusy} isDisabled={code.trim() === ''}>
          {t.signIn.verify}
        </Button>
      </Form>
      <div className="actions">
        <Button className="react-aria-Button quiet" onPress={() => setMethod(isTotp ? 'recovery_code' : 'totp')}>
          {isTotp ? t.signIn.withRecovery : t.signIn.withCode}
        </Button>
        <Button className="react-aria-Button quiet" onPress={onBack}>
          {t.signIn.otherAccount}
        </Button>
      </div>
    </CardPage>
  );
}

/** How the list of devices names this browser. */
function deviceLabel(): string {
  const { userAgent } = navigator;
  const browser = /Firefox|Edg|Chrome|Safari/.exec(userAgent)?.[0].replace('Edg', 'Edge') ?? 'Browser';
  const system = /Windows|Mac OS|Android|iPhone|iPad|Linux/.exec(userAgent)?.[0] ?? '';
  return `${browser} ${system}`.trim();
}
