// Runs in the user's browser. Tokens live in this closure and nowhere else; the page signs out when the decision is made.
(() => {
  'use strict';
  /** How long Allow stays disabled after it has appeared or the window has regained focus; key presses meanwhile restart this time. */
  const pauseMs = 1000;
  const element = (id) => document.getElementById(id);
  const transaction = JSON.parse(element('transaction').textContent);
  const { client } = transaction;
  const parts = ['sign-in', 'factor', 'consent'];
  const warnings = {
    loopback_only: 'This application runs on your own computer. Allow it only if you have just started it yourself.',
    private_scheme:
      'The answer goes to an application on this device, and any application can claim this address. Allow access only if you have just started connecting yourself.',
    self_registered: 'This application registered itself; its identity has not been verified.',
  };
  const problems = {
    login_failed: 'The email address or password is wrong.',
    mfa_code_invalid: 'The code is wrong, or there were too many attempts. Check it, or use another account to start again.',
    rate_limited: 'Too many attempts. Wait a moment and try again.',
    service_unavailable: 'The service cannot be reached at the moment. Try again shortly.',
    resource_frozen: 'Your organization is suspended. Ask its administrator.',
  };
  // After these errors, the page cannot continue.
  const ends = {
    mfa_required: 'Your organization requires a second factor. Set one up in your account, then start again in the application.',
    gone: 'This request has expired. Go back to the application and start again.',
    not_found: 'This request is unknown. Go back to the application and start again.',
    state_conflict: 'This request has already been decided.',
    oauth_request_invalid: 'The application is no longer known here.',
    session_revoked: 'You have been signed out. Reload the page to start again.',
    token_expired: 'This took too long. Reload the page to start again.',
  };
  const held = new Set();
  let accessToken = null;
  let challengeId = null;
  let isBusy = false;
  let pause = null;

  const show = (name, title) => {
    for (const part of parts) element(part).hidden = part !== name;
    element('account').hidden = name === 'sign-in' || title === 'Done';
    element('title').textContent = title;
    document.title = title;
    // In a step that grants something, the focus is never on a control that grants it.
    const first = name && name !== 'consent' && element(name).querySelector('input');
    (first || element('title')).focus();
  };

  const setBusy = (is) => {
    isBusy = is;
    element('page').setAttribute('aria-busy', String(is));
  };

  const say = (text) => {
    element('problem').textContent = text;
  };

  const send = async (method, path, body) => {
    const headers = { accept: 'application/json' };
    if (body) headers['content-type'] = 'application/json';
    if (accessToken) headers.authorization = `Bearer ${accessToken}`;
    const options = { method, headers, credentials: 'omit', cache: 'no-store' };
    const reply = await fetch(path, body ? { ...options, body: JSON.stringify(body) } : options);
    const answer = reply.status === 204 ? null : await reply.json();
    if (!reply.ok) throw answer;
    return answer;
  };

  /** Reads the values of the fields, and clears all but the email address. */
  const take = (form, ...names) =>
    names.map((name) => {
      const input = form.querySelector(`[name=${name}]`);
      const { value } = input;
      if (name !== 'email') input.value = '';
      return value;
    });

  /** Allow works only a moment after it has appeared, and not while a key is down, so that a key press meant for an earlier form grants nothing. */
  const isHeldBack = () => element('allow').getAttribute('aria-disabled') === 'true';
  const holdBack = () => {
    // Not `disabled`: the focus of a user who switches tabs and returns would be lost.
    element('allow').setAttribute('aria-disabled', 'true');
    clearTimeout(pause);
    pause = setTimeout(() => {
      if (held.size === 0) element('allow').setAttribute('aria-disabled', 'false');
    }, pauseMs);
  };

  const signOut = async () => {
    if (accessToken) await send('POST', '/auth/logout', {}).catch(() => null);
    accessToken = null;
    challengeId = null;
  };

  const explain = async (failure) => {
    const code = failure && failure.code;
    if (ends[code]) {
      await signOut();
      show(null, 'This cannot continue');
    }
    say(ends[code] || problems[code] || 'Something went wrong. Try again.');
  };

  const leave = async (redirectTo) => {
    await signOut();
    show(null, 'Done');
    element('lead').textContent = 'You are being sent back to the application. You can close this window if nothing happens.';
    element('warnings').hidden = true;
    location.replace(redirectTo);
  };

  /** Returns name, address and organization. Reading the organization also fails early if the session may not decide. */
  const nameOf = async (user) => {
    const organization = user.organization_id ? await send('GET', `/organizations/${user.organization_id}`) : null;
    const name = user.full_name ? `${user.full_name} (${user.email})` : user.email;
    return organization ? `${name}, ${organization.name}` : name;
  };

  const ask = async ({ access_token: token, user }) => {
    accessToken = token;
    challengeId = null;
    element('who').textContent = user.email;
    element('who').textContent = await nameOf(user);
    show('consent', `Allow ${client.client_name}?`);
    holdBack();
  };

  const decide = async (decision) => {
    const boxes = [...element('scopes').querySelectorAll('input[type=checkbox]')];
    const scopes = boxes.filter((box) => box.checked).map((box) => box.name);
    if (decision === 'approve' && scopes.length === 0) return say('Choose what to allow, or deny.');
    const body = { transaction_id: transaction.transaction_id, decision };
    const answer = await send('POST', '/oauth/authorize', decision === 'approve' ? { ...body, scopes } : body);
    return leave(answer.redirect_to);
  };

  const steps = {
    'sign-in': async () => {
      const [email, password] = take(element('sign-in'), 'email', 'password');
      const label = `Consent for ${client.client_name}`.slice(0, 80);
      const answer = await send('POST', '/auth/login', { email, password, device_label: label });
      if (!answer.mfa_required) return ask(answer);
      challengeId = answer.challenge_id;
      element('who').textContent = email;
      return show('factor', 'Second factor');
    },
    'factor': async () => {
      const code = take(element('factor'), 'code')[0].trim();
      const method = /^\d{3} ?\d{3}$/.test(code) ? 'totp' : 'recovery_code';
      const body = { challenge_id: challengeId, method, code: method === 'totp' ? code.replace(' ', '') : code };
      return ask(await send('POST', '/auth/mfa/verify', body));
    },
    'other-account': async () => {
      await signOut();
      element('sign-in').querySelector('[name=email]').value = '';
      show('sign-in', 'Sign in');
    },
    'deny': () => decide('deny'),
    'allow': () => (isHeldBack() ? null : decide('approve')),
  };

  const act = async (name) => {
    if (isBusy) return;
    setBusy(true);
    say('');
    try {
      await steps[name]();
    } catch (failure) {
      await explain(failure);
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

  const isPress = ({ key }) => key === 'Enter' || key === ' ';
  window.addEventListener('keydown', (event) => {
    // The repeats of a held key are not a second decision.
    if (event.repeat && event.key === 'Enter') event.preventDefault();
    if (!isPress(event)) return;
    held.add(event.key);
    if (isHeldBack() || event.repeat) holdBack();
  });
  window.addEventListener('keyup', ({ key }) => {
    held.delete(key);
    if (isHeldBack()) holdBack();
  });
  window.addEventListener('blur', () => held.clear());
  // The window may come to the front under a click or key press that was meant for another window.
  for (const type of ['blur', 'focus', 'pageshow']) window.addEventListener(type, holdBack);

  element('lead').textContent = client.host
    ? `${client.client_name} (${client.host}) asks for access to your account.`
    : `${client.client_name} asks for access to your account.`;
  element('scopes').append(...transaction.scopes.map(scopeBox));
  element('resource').textContent = transaction.resource;
  element('redirect-host').textContent = transaction.redirect_host;
  element('warnings').append(...transaction.warnings.map((name) => item(warnings[name] || name)));
  element('warnings').hidden = transaction.warnings.length === 0;
  for (const name of ['sign-in', 'factor'])
    element(name).addEventListener('submit', (event) => {
      event.preventDefault();
      act(name);
    });
  for (const name of ['other-account', 'deny', 'allow']) element(name).addEventListener('click', () => act(name));
  show('sign-in', 'Sign in');
})();
