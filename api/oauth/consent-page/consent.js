// Runs in the user's browser. Tokens live in this closure and nowhere else; the page signs out when the decision is made.
(() => {
  'use strict';
  const element = (id) => document.getElementById(id);
  const transaction = JSON.parse(element('transaction').textContent);
  const { client } = transaction;
  const forms = ['sign-in', 'factor', 'consent'];
  const warnings = {
    loopback_only: 'This application runs on your own computer: allow it only if you have just started it yourself.',
    self_registered: 'This application has registered itself; nobody here has checked who it is.',
  };
  const problems = {
    login_failed: 'Address or password is wrong.',
    mfa_code_invalid: 'The code is wrong.',
    rate_limited: 'Too many tries: wait a little and try again.',
    gone: 'This request has run out. Go back to the application and start again.',
    not_found: 'This request is unknown. Go back to the application and start again.',
    state_conflict: 'This request has been decided already.',
    session_revoked: 'You have been signed out. Reload the page to start again.',
    token_expired: 'This took too long. Reload the page to start again.',
  };
  let accessToken = null;
  let challengeId = null;
  let isBusy = false;

  const show = (name, title) => {
    for (const form of forms) element(form).hidden = form !== name;
    element('title').textContent = title;
    document.title = title;
    const first = name && element(name).querySelector('input');
    (first || element('title')).focus();
  };

  const setBusy = (is) => {
    isBusy = is;
    element('page').setAttribute('aria-busy', String(is));
  };

  const say = (text) => {
    element('problem').textContent = text;
    element('problem').hidden = text === '';
  };

  const send = async (path, body) => {
    const headers = { 'content-type': 'application/json', 'accept': 'application/json' };
    if (accessToken) headers.authorization = `Bearer ${accessToken}`;
    const reply = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), credentials: 'omit', cache: 'no-store' });
    const answer = reply.status === 204 ? null : await reply.json();
    if (!reply.ok) throw answer;
    return answer;
  };

  /** What stands in the fields; a secret doesn't stay in them. */
  const take = (form, ...names) =>
    names.map((name) => {
      const input = form.querySelector(`[name=${name}]`);
      const { value } = input;
      if (name !== 'email') input.value = '';
      return value;
    });

  const explain = (failure) => {
    if (failure && failure.code === 'mfa_required')
      return 'Your organization demands a second factor. Set one up in your account, then start again in the application.';
    return (failure && problems[failure.code]) || 'Something went wrong. Try again.';
  };

  const leave = async (redirectTo) => {
    show(null, 'Done');
    element('lead').textContent = 'You are being sent back to the application. You can close this window if nothing happens.';
    element('warnings').hidden = true;
    await send('/auth/logout', {}).catch(() => null);
    accessToken = null;
    location.replace(redirectTo);
  };

  const ask = () => {
    show('consent', `Allow ${client.client_name}?`);
  };

  const steps = {
    'sign-in': async (form) => {
      const [email, password] = take(form, 'email', 'password');
      const answer = await send('/auth/login', { email, password, device_label: `Consent for ${client.client_name}`.slice(0, 80) });
      if (!answer.mfa_required) {
        accessToken = answer.access_token;
        return ask();
      }
      challengeId = answer.challenge_id;
      return show('factor', 'Second factor');
    },
    'factor': async (form) => {
      const code = take(form, 'code')[0].trim();
      const method = /^\d{3} ?\d{3}$/.test(code) ? 'totp' : 'recovery_code';
      const body = { challenge_id: challengeId, method, code: method === 'totp' ? code.replace(' ', '') : code };
      const answer = await send('/auth/mfa/verify', body);
      accessToken = answer.access_token;
      return ask();
    },
    'consent': async (form, decision) => {
      const scopes = [...form.querySelectorAll('input[type=checkbox]')].filter((box) => box.checked).map((box) => box.name);
      if (decision === 'approve' && scopes.length === 0) return say('Choose what to allow, or deny.');
      const body = { transaction_id: transaction.transaction_id, decision };
      const answer = await send('/oauth/authorize', decision === 'approve' ? { ...body, scopes } : body);
      return leave(answer.redirect_to);
    },
  };

  const submit = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    say('');
    try {
      await steps[event.target.id](event.target, event.submitter ? event.submitter.value : 'deny');
    } catch (failure) {
      say(explain(failure));
    }
    setBusy(false);
  };

  const item = (...children) => {
    const li = document.createElement('li');
    li.append(...children);
    return li;
  };

  const scopeBox = ({ name, description }) => {
    const label = document.createElement('label');
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.name = name;
    box.checked = true;
    const text = document.createElement('span');
    text.textContent = `${description} (${name})`;
    label.append(box, text);
    return item(label);
  };

  element('lead').textContent = client.host
    ? `${client.client_name} (${client.host}) asks for access to your account.`
    : `${client.client_name} asks for access to your account.`;
  element('scopes').append(...transaction.scopes.map(scopeBox));
  element('resource').textContent = transaction.resource;
  element('redirect-host').textContent = transaction.redirect_host;
  element('warnings').append(...transaction.warnings.map((name) => item(warnings[name] || name)));
  element('warnings').hidden = transaction.warnings.length === 0;
  for (const name of forms) element(name).addEventListener('submit', submit);
  show('sign-in', 'Sign in');
})();
