/* upstreams_file.test.mjs -- the file of upstreams (OPERATIONS 4.1): read at start, and again while streams run; what is
 * wrong with one is said, and changes nothing.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { BINARY, ENVIRONMENT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { FILE_KEY, flags, sayer, startGroup, turnOf } from '../lib/group.mjs';
import { heldAfterFirst, several, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const RELOADED = /reload part=upstreams result=(\w+)/g;

/* ---- another file */

/* What is wrong, and a file that has it. */
const json = (table) => () => JSON.stringify(table);
const ONE = { url: 'http://127.0.0.1:1/v1', models: ['m'] };
const MISTAKES = {
    'no JSON': () => '{"upstreams": {',
    'no upstream': json({ upstreams: {} }),
    'no URL': json({ upstreams: { a: { models: ['m'] } } }),
    'an unknown member': json({ upstreams: { a: { ...ONE, wieght: 2 } } }),
    'a name that is none': json({ upstreams: { 'Not A Name': ONE } }),
    'one name twice': () => `{"upstreams":{"a":${JSON.stringify(ONE)},"a":${JSON.stringify(ONE)}}}`,
    'two keys': json({ upstreams: { a: { ...ONE, key: 'a', key_env: 'B' } } }),
    'a weight of 0': json({ upstreams: { a: { ...ONE, weight: 0 } } }),
    'a tier of 10': json({ upstreams: { a: { ...ONE, tier: 10 } } }),
    'a default that is none': json({ upstreams: { a: ONE }, default: ['b'] }),
    'a policy for nothing': json({ upstreams: { a: ONE }, policies: { other: { policy: 'first' } } }),
    'a policy that is none': json({ upstreams: { a: ONE }, policies: { m: { policy: 'random' } } }),
    'another model for a pattern': json({ upstreams: { a: { ...ONE, models: [{ name: 'm*', model: 'x' }] } } }),
    'a setting that is no value': json({ upstreams: { a: { ...ONE, first_byte_timeout: 'soon' } } }),
};

describe('the file is read again', { concurrency: false }, () => {
    const byAdmin = async (group) => {
        const got = await group.reload();
        return got.json.parts.find(({ part }) => part === 'upstreams').result;
    };
    async function bySignal(group) {
        const seen = [...group.daemon.log.matchAll(RELOADED)].length;
        group.daemon.child.kill('SIGHUP');
        const lines = await until(() => [...group.daemon.log.matchAll(RELOADED)], ({ length }) => length > seen);
        return lines.at(-1)[1];
    }

    test('who is not in the file any more is asked nothing, however often lists are fetched', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { settings: { models_refresh: '1s' } });
        const listed = (rig) => rig.checks.filter((path) => path === '/v1/models').length;
        await until(() => listed(rigs.b), (n) => n > 1, 30_000);
        group.change({ upstreams: { a: {} } });
        assert.equal(await byAdmin(group), 'ok');
        const moreOf = async (n) => {
            const before = listed(rigs.a);
            await until(() => listed(rigs.a), (now) => now >= before + n, 30_000);
        };
        await moreOf(1); /* what was under way has ended */
        const asked = rigs.b.checks.length;
        await moreOf(3);
        assert.equal(rigs.b.checks.length, asked);
    });

    test('a key_file that comes with a reload is read again as well', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: {} } });
        const file = folder(t, 'key');
        writeFileSync(file, 'key-one', { mode: 0o600 });
        group.change({ upstreams: { a: { key_file: file } } });
        assert.equal(await byAdmin(group), 'ok');
        await group.ask('Hi');
        assert.equal(rigs.a.rounds.at(-1).headers.authorization, 'Bearer key-one');
        writeFileSync(file, 'key-two', { mode: 0o600 });
        await until(async () => {
            await group.ask('Hi');
            return rigs.a.rounds.at(-1).headers.authorization;
        }, (key) => key === 'Bearer key-two', 30_000);
    });

    for (const [how, reload] of [['SIGHUP', bySignal], ['POST /admin/reload', byAdmin]]) {
        test(`${how}: one comes, one goes, and no stream notices`, async (t) => {
            const rigs = await startRigs(t, { a: {}, b: {}, c: {} });
            const group = await startGroup(t, rigs, { upstreams: { a: {}, b: {} }, policies: { m: { policy: 'round_robin' } } });
            let release;
            const gate = new Promise((done) => (release = done));
            rigs.list.forEach((rig) => rig.usually(heldAfterFirst(gate)));
            const streams = Array.from({ length: 20 }, (_, i) => group.open(`held ${i}`, { stream: true }));
            await Promise.all(streams.map((one) => one.until('.delta')));
            assert.deepEqual(rigs.counts(), { a: 10, b: 10, c: 0 });
            group.change({ upstreams: { c: {}, b: {} }, policies: { m: { policy: 'round_robin' } } });
            assert.equal(await reload(group), 'ok');
            rigs.list.forEach((rig) => rig.usually(talk()));
            const turns = await several(10, (i) => group.ask(`new ${i}`));
            assert.ok(turns.every(({ status }) => status === 200));
            assert.deepEqual(rigs.counts(), { a: 10, b: 15, c: 5 });
            release();
            for (const one of streams)
                assert.equal((await turnOf(one, captures, 'over a reload')).outcome, 'completed');
            assert.deepEqual(Object.keys(await group.upstreams()), ['c', 'b']);
        });
    }

    test('a limit that has changed is kept from now on', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { max_concurrency: 1 } } });
        group.change({ upstreams: { a: { max_concurrency: 4 } } });
        assert.equal(await byAdmin(group), 'ok');
        rigs.a.usually(heldAfterFirst());
        const all = Array.from({ length: 6 }, (_, i) => group.open(`${i}`, { stream: true }));
        await until(() => rigs.a.running.size, (n) => n === 4);
        await group.counted('queue', {}, 2);
        assert.equal(rigs.a.running.most, 4);
        all.forEach((one) => one.destroy());
    });

    for (const [what, text] of Object.entries(MISTAKES)) {
        test(`a mistake changes nothing: ${what}`, async (t) => {
            const rigs = await startRigs(t, { a: {}, b: {} });
            const group = await startGroup(t, rigs, { upstreams: { a: {} } });
            group.write(text());
            assert.equal((await group.reload()).status, 409);
            assert.equal(await bySignal(group), 'error');
            assert.equal(sayer((await group.ask('Hi')).json), 'a');
            assert.ok(await group.metric('reloads', { part: 'upstreams', result: 'error' }) >= 2);
            group.change({ upstreams: { b: {} } });
            assert.equal(await bySignal(group), 'ok');
            assert.equal(sayer((await group.ask('Hi')).json), 'b');
        });
    }
});

/* ---- start */

const started = (file, ...more) => spawnSync(BINARY, ['serve', '--check-config', ...flags({ [FILE_KEY]: file }), ...more], { encoding: 'utf8', env: { ...ENVIRONMENT, ANTIPHON_STORE: 'memory' } });

test('mistakes are all named at the start, and it ends with status 2', (t) => {
    const file = folder(t, 'upstreams.json');
    writeFileSync(file, JSON.stringify({ upstreams: { a: { models: ['m'] }, b: { url: 'http://h/v1', wieght: 1 } }, default: ['missing'] }));
    const { status, stdout, stderr } = spawnSync(BINARY, ['serve', '--listen', '127.0.0.1:0', ...flags({ [FILE_KEY]: file })], { encoding: 'utf8', env: ENVIRONMENT, timeout: 20_000 });
    assert.equal(status, 2, stdout + stderr);
    for (const what of ['url', 'wieght', 'missing'])
        assert.ok((stdout + stderr).includes(what), what);
});

test('the file excludes a single upstream and its key', (t) => {
    const file = folder(t, 'upstreams.json');
    writeFileSync(file, JSON.stringify({ upstreams: { a: { url: 'http://127.0.0.1:1/v1' } } }));
    assert.equal(started(file).status, 0, started(file).stderr);
    assert.equal(started(file, '--upstream', 'http://127.0.0.1:2/v1').status, 2);
    assert.equal(started(file, '--upstream-key', 'sk').status, 2);
});

test('comments and commas behind the last one are taken; --check-config shows the table', (t) => {
    const file = folder(t, 'upstreams.json');
    writeFileSync(file, `{
        // two of them
        "upstreams": { "gpu1": { "url": "http://127.0.0.1:1/v1", "key": "sk-secret-of-gpu1", "models": ["m",], }, /* and */
                       "gpu2": { "url": "http://127.0.0.1:2/v1", "weight": 2 }, },
    }`);
    const { status, stdout, stderr } = started(file);
    assert.equal(status, 0, stderr);
    for (const what of ['gpu1', 'gpu2', 'http://127.0.0.1:1/v1'])
        assert.ok((stdout + stderr).includes(what), what);
    assert.ok(!(stdout + stderr).includes('sk-secret-of-gpu1'));
});

captures.judge(test);
