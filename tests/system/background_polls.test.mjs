/* background_polls.test.mjs -- who asks again and again for a response that runs costs the store nothing (CONTRACT 4.8):
 * the log says of each GET whether the store was asked (`answered`) or not (`polled`). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { accepted, become, cancel, checkShown, resume } from '../lib/background.mjs';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { HANG, chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

const captures = new Captures();
const STARTED = stream([...frames(chunk({ content: 'one' })), HANG]);
const KEYS = ['first-key-0123456789', 'second-key-0123456789'];
const as = (key) => ({ headers: { authorization: `Bearer ${key}` } });

const looks = (daemon, id, outcome) => [...daemon.log.matchAll(new RegExp(`method=GET path=/v1/responses/${id} outcome=${outcome}`, 'g'))].length;

describe('polling', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--log-level', 'debug');

    async function running(body) {
        both.up.next(STARTED);
        const { id } = await accepted(both.daemon, body, captures);
        await become(both.daemon, id, 'in_progress');
        return id;
    }

    test('the store is asked once a second at most, however often a client asks', async () => {
        const id = await running({ metadata: { long: 'x'.repeat(500) } });
        const [begun, before] = [performance.now(), looks(both.daemon, id, 'answered')];
        const shown = new Set();
        for (let i = 0; i < 200; i++)
            shown.add((await get(both.daemon, `/v1/responses/${id}`)).text);
        const most = 2 + Math.floor((performance.now() - begun) / 1000);
        const answered = looks(both.daemon, id, 'answered') - before;
        assert.ok(answered <= most, `${answered} of 200 came from the store in ${most} s`);
        assert.ok(looks(both.daemon, id, 'polled') >= 200 - most);
        assert.equal(shown.size, 1, 'all are the same');
        checkShown(await cancel(both.daemon, id));
    });

    test('nobody sees it run who has seen it end: completed', async () => {
        let release;
        both.up.next(stream([...frames(chunk({ content: 'one' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
        const { id } = await accepted(both.daemon, {}, captures);
        await become(both.daemon, id, 'in_progress');
        const asked = [];
        release();
        while (asked.at(-1) !== 'completed')
            asked.push((await get(both.daemon, `/v1/responses/${id}`)).json.status);
        for (let i = 0; i < 20; i++)
            assert.equal((await get(both.daemon, `/v1/responses/${id}`)).json.status, 'completed');
    });

    test('nobody sees it run who has seen it end: cancelled', async () => {
        const id = await running();
        assert.equal(checkShown(await cancel(both.daemon, id)).status, 'cancelled');
        for (let i = 0; i < 20; i++)
            assert.equal(checkShown(await get(both.daemon, `/v1/responses/${id}`)).status, 'cancelled');
    });

    test('nobody sees it who has deleted it', async () => {
        const id = await running();
        assert.equal((await get(both.daemon, `/v1/responses/${id}`)).status, 200);
        assert.deepEqual((await ask(both.daemon, undefined, { method: 'DELETE', path: `/v1/responses/${id}` })).json, { id, object: 'response', deleted: true });
        checkError(await get(both.daemon, `/v1/responses/${id}`), 404, 'not_found');
        checkError(await cancel(both.daemon, id), 404, 'not_found');
    });
});

/* Its turn takes a moment to end. */
test('nobody reads the events of what was deleted', async (t) => {
    const { up, daemon } = await pair(t, '--workers', '2');
    up.always(STARTED);
    for (let i = 0; i < 30; i++) {
        const { id } = await accepted(daemon, {}, captures);
        await up.request(i);
        assert.equal((await ask(daemon, undefined, { method: 'DELETE', path: `/v1/responses/${id}` })).status, 200);
        checkError(await resume(daemon, id).done, 404, 'not_found');
    }
});

describe('of several owners', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--api-key', KEYS.join(','));

    test('what is shown to one is not shown to another', async () => {
        both.up.next(STARTED);
        const { json: { id } } = await ask(both.daemon, { model: 'm', input: 'Hi', background: true }, as(KEYS[0]));
        const asked = () => get(both.daemon, `/v1/responses/${id}`, as(KEYS[0]));
        while ((await asked()).json.status !== 'in_progress');
        assert.equal((await asked()).status, 200);
        checkError(await get(both.daemon, `/v1/responses/${id}`, as(KEYS[1])), 404, 'not_found');
        checkError(await ask(both.daemon, undefined, { path: `/v1/responses/${id}/cancel`, ...as(KEYS[1]) }), 404, 'not_found');
        assert.equal((await ask(both.daemon, undefined, { path: `/v1/responses/${id}/cancel`, ...as(KEYS[0]) })).json.status, 'cancelled');
    });
});

test('a cancel of what a silent gateway makes shows it as it is, and may be left', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    const args = ['--model', 'm', '--store', `sqlite:${folder(t, 'antiphon.db')}`];
    const runner = await startDaemon({ upstream: up.url, args });
    t.after(() => runner.child.kill('SIGKILL'));
    up.next(STARTED);
    const { id } = await accepted(runner, {}, captures);
    await become(runner, id, 'in_progress');
    await up.request(0);
    const other = await startDaemon({ upstream: up.url, args: [...args, '--log-level', 'debug'] });
    t.after(() => other.child.kill('SIGKILL'));
    runner.child.kill('SIGSTOP');
    const left = open(other, undefined, { path: `/v1/responses/${id}/cancel` });
    const got = checkShown(await cancel(other, id));
    assert.equal(got.status, 'in_progress', 'the wish is kept');
    left.destroy();
    const leaving = open(other, undefined, { path: `/v1/responses/${id}/cancel` });
    await other.logged(/path=\/v1\/responses\/\w+\/cancel outcome=answered/);
    leaving.destroy();
    runner.child.kill('SIGCONT');
    assert.equal((await become(other, id, 'cancelled')).status, 'cancelled');
    await Promise.all([runner.stop(), other.stop()]);
});

captures.judge(test);
