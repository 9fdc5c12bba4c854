import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { totalOf } from './total.ts';
import { testPassword } from '../../support/tenant.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { startFaultProxy, type FaultProxy } from './proxy.ts';
import { describePython, startPlayer, type Player } from './python.ts';

describePython('calls of the Python client', () => {
  let models: ModelServer;
  let stack: Stack;
  let proxy: FaultProxy;
  let player: Player;
  let url: string;
  let key: string;

  beforeAll(async () => {
    models = await startModelServer();
    stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl });
    proxy = await startFaultProxy(() => stack.url());
    player = startPlayer('calls');
    url = stack.url();
    key = stack.tenant.serviceKey.plaintext;
  });

  afterAll(async () => {
    player?.stop();
    await proxy?.close();
    await stack?.stop();
    await models?.close();
  });

  test('both clients create, read, change and delete, and an ETag guards a change', async () => {
    expect(await player.play('reads_and_writes', { url, key, name: name() })).toEqual({
      status: 201,
      names: ['One', 'One', 'Two'],
      stale: ['precondition_failed', false],
      part: 'ValueError',
      deleted: null,
      text: '# ',
      document: 'Longhaul',
    });
    expect(await player.play('reads_and_writes_async', { url, key, name: name() })).toEqual({ found: true, page: 1 });
  });

  test('a failure is an exception of its code with all that the envelope says, and arguments cannot leave their place', async () => {
    const common = { retryable: false, correlated: true };
    expect(await player.play('failures', { url, key })).toEqual({
      not_found: { class: 'NotFoundError', code: 'not_found', status: 404, errors: 0, copied: ['NotFoundError', true], ...common },
      validation_failed: {
        class: 'ValidationFailedError',
        code: 'validation_failed',
        status: 422,
        errors: expect.any(Number),
        copied: ['ValidationFailedError', true],
        ...common,
      },
      cursor_invalid: {
        class: 'CursorInvalidError',
        code: 'cursor_invalid',
        status: 422,
        errors: expect.any(Number),
        copied: ['CursorInvalidError', true],
        ...common,
      },
      segment: 'ValueError',
      option: 'TypeError',
    });
  });

  test('a page of a proxy is unreadable_reply with its status, and one that passes is waited out', async () => {
    const [good, bad] = [proxy.url('answer', 503, 'passes', 2), proxy.url('answer', 418, 'stays', 99)];
    const shown = await player.play('page_of_a_proxy', { url: bad, url_for_good: good, key });
    expect(shown).toEqual({ raised: ['UnreadableReplyError', 'unreadable_reply', 418], recovered: 'longhaul' });
  });

  test('no error, log or repr holds a credential', async () => {
    const shown = await player.play('secrets_stay', { url, unreachable: 'http://127.0.0.1:9', key });
    expect(shown).toEqual({ leaks: [], logged: true });
  });

  test('a credential never follows a redirect', async () => {
    expect(await player.play('redirected', { url: proxy.url('move'), key })).toBe(307);
    expect(proxy.seen.filter(({ path }) => path.startsWith('/runs'))).toHaveLength(1);
  });

  test('each retried method survives the loss of its reply: no second row, no false conflict, no false 404', async () => {
    const slug = name();
    const workspaceId = stack.tenant.workspaceId;
    const shown = await player.play('lost_replies', { url: proxy.url('lose', slug), key, name: slug, workspace_id: workspaceId });
    expect(shown).toEqual({ replayed: true, same: true, budget: 'day', deleted: null, gone: true });
    // The one that was made is deleted; a second one would still be there.
    expect(await totalOf(stack, `/tools?q=${slug}`)).toBe(0);
    expect(await player.play('never_there', { url, key })).toBe(false);
  });

  test('a PATCH whose reply was lost says that it may have been applied', async () => {
    const slug = name();
    const shown = await player.play('lost_patch', { url: proxy.url('lose', slug), direct: url, key, name: slug });
    expect(shown).toEqual({ stale: true, lost: true, name: 'Two' });
  });

  test('a POST without a key is sent once, and only a 429 repeats it', async () => {
    expect(await player.play('lost_unmarked', { url: proxy.url('lose', name()), key })).toBe(true);
    expect(proxy.seen.filter(({ path }) => path.endsWith('/validate'))).toHaveLength(1);
    expect(await player.play('waits_as_told')).toEqual({
      unmarked: 2,
      waited: true,
      get: 3,
      unmarked_503: [1, true],
      too_long: 1,
      deadline: [1, true],
    });
  });

  test('a list is walked page by page, by cursor or offset, and one that goes in circles is an error', async () => {
    const names = [name(), name(), name()];
    const shown = await player.play<{ by_cursor: string[]; by_offset: string[]; total: number }>('pages', { url, key, names });
    expect(new Set(shown.by_cursor).size).toBe(shown.by_cursor.length);
    expect(shown.by_cursor).toEqual(expect.arrayContaining(names));
    expect(shown.by_offset.toSorted()).toEqual(shown.by_cursor.toSorted());
    expect(shown.total).toBe(shown.by_cursor.length);
    expect(await player.play('cursor_seen_before')).toEqual({ found: 1, raised: 'CursorRepeatedError' });
  });

  test('a session: one refresh for all, stored before use; the loser of a race takes up what the winner stored', async () => {
    const { email } = stack.tenant.users.member;
    expect(await player.play('session', { url, email, password: testPassword })).toEqual({
      same: 1,
      renewed: [true, true, true, true, true],
      stored: 2,
      order: ['storing', 'stored', 'used'],
      adopted: true,
      loads: 2,
      lost: 'refresh_superseded',
    });
  });

  test('an expired token is refreshed once for all calls that meet it, and each is sent once more', async () => {
    expect(await player.play('expired_token_is_resent')).toEqual({ refreshes: [null], stored_before: true, sent: 11 });
  });

  test('files of every form go up and come down, and only what can be read again is sent again', async () => {
    const shown = await player.play('uploads', { url, losing: proxy.url('lose', name()), key });
    const good = ['a.txt', true, true];
    const path = ['bericht ä.txt', true, true];
    expect(shown).toEqual({
      bytes: good,
      path,
      file: good,
      memory: good,
      pieces: good,
      saved: true,
      range: [206, 'Zeile'],
      repeated: [true, true],
    });
    expect(await player.play('one_shot', { losing: proxy.url('lose', name()), key })).toBe(true);
    expect(await player.play('upload_async', { url, key })).toEqual({ size: 60, text: 'piece\n' });
  });

  test('cancelling a task frees its socket within a second and ends the tries; closing ends a wait', async () => {
    expect(await player.play('cancelled')).toEqual({ 'call': true, 'call tries': 1, 'stream': true, 'stream tries': 1 });
    expect(await player.play('closed_while_waiting')).toBe('ClientClosedError');
  });

  test('a deprecated part warns once per operation; an address with a password is refused without showing it', async () => {
    expect(await player.play('deprecations')).toEqual(['ContractDeprecationWarning', 'ContractDeprecationWarning']);
    expect(await player.play('bad_bases')).toEqual([true, true, true, true, true]);
  });
});

function name(): string {
  return `py-${crypto.randomUUID().slice(0, 8)}`;
}
