/* upstreams.test.mjs -- several upstreams (OPERATIONS 4.1 to 4.4): which of them a name leads to, what each is asked and
 * told, and what clients and operators see of it.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { IN_ORDER, said, sayer, startGroup, turnOf } from '../lib/group.mjs';
import { patience } from '../lib/patience.mjs';
import { FAULTS } from '../lib/upstream_faults.mjs';
import { heldAfterFirst, pause, several, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const REFRESH_KEY = 'models_refresh'; /* how often lists of models are fetched: the key that the gateway has had */

/* How often each rig has said something, in turns one behind the other. */
async function sharesOf(group, n, how) {
    group.rigs.reset();
    await several(n, async (i) => {
        const { status, text } = await group.ask(`turn ${i}`, how);
        assert.equal(status, 200, text);
        await group.rest(); /* the end of its answer may be read after the client has it */
    });
    return group.rigs.counts();
}

/* A group that all tests of a suite use. */
function sharedGroup(specs, how) {
    const shared = {};
    const cleaning = [];
    before(async () => {
        const t = { after: (fn) => cleaning.unshift(fn) };
        shared.rigs = await startRigs(t, specs);
        shared.group = await startGroup(t, shared.rigs, how(shared.rigs));
    });
    beforeEach(() => shared.rigs.reset());
    after(async () => {
        for (const clean of cleaning)
            await clean();
    });
    return shared;
}

/* ---- names */

describe('from a name to an upstream', { concurrency: false }, () => {
    const s = sharedGroup({ gpu1: {}, gpu2: {}, small: { models: ['qwen3-4b'] }, listing: { models: ['listed-1', 'listed-2', 'gpt-oss-x'] } }, () => ({
        upstreams: {
            gpu1: { models: ['qwen3-coder', 'gpt-oss-*'] },
            gpu2: { models: ['gpt-oss-120*', 'only-here'] },
            small: { models: [{ name: 'fast', model: 'qwen3-4b' }] },
            listing: { models: 'auto' },
        },
        args: ['--model-alias', 'gpt-4o=fast', '--model-alias', 'old-name=only-here'],
        settings: { early_error_window: '5s' }, /* a list may be asked for before a name is unknown */
    }));

    for (const [model, rig, sent, why] of [
        ['qwen3-coder', 'gpu1', 'qwen3-coder', 'an exact name'],
        ['only-here', 'gpu2', 'only-here', 'an exact name'],
        ['gpt-oss-20b', 'gpu1', 'gpt-oss-20b', 'the only pattern that fits'],
        ['gpt-oss-120b', 'gpu2', 'gpt-oss-120b', 'the pattern with the longest literal part, alone'],
        ['gpt-oss-x', 'gpu1', 'gpt-oss-x', 'a pattern comes before a list'],
        ['fast', 'small', 'qwen3-4b', 'a name with another one at its upstream'],
        ['listed-2', 'listing', 'listed-2', 'what a server lists'],
        ['gpt-4o', 'small', 'qwen3-4b', 'an alias of such a name'],
        ['old-name', 'gpu2', 'only-here', 'an alias of an exact name'],
    ]) {
        for (const stream of [false, true]) {
            test(`${model} is asked of ${rig} as ${sent}, and is ${model} to the client${stream ? ', in a stream' : ''}: ${why}`, async () => {
                for (let i = 0; i < 3; i++) {
                    const { response, outcome } = await turnOf(s.group.open('Hi', { model, stream }), captures, model);
                    assert.deepEqual([outcome, sayer(response), response.model], ['completed', rig, model]);
                }
                assert.deepEqual(s.rigs.rounds.map(({ rig: { name }, body }) => [name, body.model]), Array(3).fill([rig, sent]));
            });
        }
    }

    for (const model of ['nobody-has-it', 'gpt-oss', 'qwen3-4b', 'FAST', 'listed-3', '*']) {
        test(`${model} does not exist: 404, and nobody is asked`, async () => {
            const got = await s.group.ask('Hi', { model });
            captures.keep('no model.json', got.bytes, '--kind', 'error');
            assert.equal(checkError(got, 404, 'model_not_found', 'model').message, `The model '${model}' does not exist.`);
            checkError(await s.group.ask('Hi', { model, stream: true }), 404, 'model_not_found', 'model');
            checkError(await ask(s.group.daemon, { model, messages: [] }, { path: '/v1/chat/completions' }), 404, 'model_not_found', 'model');
            assert.deepEqual(s.rigs.counts(), { gpu1: 0, gpu2: 0, small: 0, listing: 0 });
        });
    }

    test('a name that a server has come to list is found', async () => {
        checkError(await s.group.ask('Hi', { model: 'listed-late' }), 404, 'model_not_found');
        s.rigs.listing.models.push('listed-late');
        await until(async () => (await s.group.ask('Hi', { model: 'listed-late' })).status, (status) => status === 200, 20_000);
        assert.equal(s.rigs.listing.rounds.at(-1).body.model, 'listed-late');
    });

    test('names that nobody knows have a server asked for its list now and then, not each time', async () => {
        s.rigs.listing.checks.length = 0;
        await Promise.all(Array.from({ length: 100 }, (_, i) => s.group.ask('Hi', { model: `invented-${i}` })));
        const lists = s.rigs.listing.checks.filter((path) => path === '/v1/models').length;
        assert.ok(lists <= 2, `${lists} times`);
    });
});

test('a name that nobody has goes to the default, as it is', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {} });
    const group = await startGroup(t, rigs, { upstreams: { a: { models: ['m'] }, b: { models: ['other'] } }, fallback: ['b'] });
    const { response } = await turnOf(group.open('Hi', { model: 'whatever' }), captures);
    assert.deepEqual([sayer(response), response.model, rigs.b.rounds[0].body.model], ['b', 'whatever', 'whatever']);
    assert.equal(sayer((await group.ask('Hi')).json), 'a');
});

test('a key that may not use a name is told that it does not exist', async (t) => {
    const rigs = await startRigs(t, { a: {} });
    const keys = folder(t, 'keys');
    writeFileSync(keys, `alice ${createHash('sha256').update('sk-of-alice-0001').digest('hex')} models=m*\n`, { mode: 0o600 });
    const group = await startGroup(t, rigs, { upstreams: { a: { models: ['m', 'secret'] } }, settings: { api_keys_file: keys } });
    const headers = { authorization: 'Bearer sk-of-alice-0001' };
    assert.equal((await group.ask('Hi', { headers })).status, 200);
    for (const model of ['secret', 'nothing'])
        assert.equal(checkError(await group.ask('Hi', { model, headers }), 404, 'model_not_found', 'model').message, `The model '${model}' does not exist.`);
    assert.deepEqual((await get(group.daemon, '/v1/models', { headers })).json.data.map(({ id }) => id), ['m']);
});

test('a model that a key may not use is refused by its path as well', async (t) => {
    const rigs = await startRigs(t, { a: {} });
    const keys = folder(t, 'keys');
    writeFileSync(keys, `alice ${createHash('sha256').update('sk-of-alice-0001').digest('hex')} models=m*\n`, { mode: 0o600 });
    const group = await startGroup(t, rigs, { upstreams: { a: { models: ['m', 'secret'] } }, settings: { api_keys_file: keys } });
    const headers = { authorization: 'Bearer sk-of-alice-0001' };
    assert.equal((await get(group.daemon, '/v1/models/m', { headers })).status, 200);
    checkError(await get(group.daemon, '/v1/models/secret', { headers }), 404, 'model_not_found', 'model');
    await group.counted('antiphon_rejected_total', { reason: 'model' }, 1);
});

for (const path of ['/v1/responses', '/v1/chat/completions']) {
    test(`${path}: limits come before candidates, so that names cannot be tried for nothing`, async (t) => {
        const group = await startGroup(t, await startRigs(t, { a: {} }), { settings: { limit_rpm: 2 } });
        const tried = await several(4, () => group.ask('Hi', { path, model: 'nothing', messages: [{ role: 'user', content: 'Hi' }] }));
        assert.deepEqual(tried.map(({ status }) => status), [404, 404, 429, 429]);
    });
}

test('who is silent when asked what it lists holds up no request for what another lists', async (t) => {
    const rigs = await startRigs(t, { a: { models: ['listed'] }, b: {} });
    rigs.b.health = 'silent';
    const group = await startGroup(t, rigs, { defaults: { upstream_probe_timeout: '60s' }, upstreams: { b: { models: 'auto' }, a: { models: 'auto' } } });
    await until(() => group.upstreams(), ({ a }) => a.models.length > 0, 30_000);
    const got = await Promise.race([group.ask('Hi', { model: 'listed' }), pause(patience(20_000))]);
    assert.equal(got?.status, 200, 'it does not wait for the list of b');
});

test('one that counts no tokens takes over from one that does', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {} });
    const group = await startGroup(t, rigs, { upstreams: { a: { count_by: 'auto' }, b: { count_by: 'off' } }, policies: IN_ORDER, settings: { eject_after: 0 } });
    rigs.a.behave(FAULTS.badGateway());
    const { status, json } = await group.ask('Hi');
    assert.equal(status, 200);
    assert.ok(json.usage.input_tokens > 0, 'it has told a number');
    assert.deepEqual(rigs.counts(), { a: 1, b: 1 });
});

test('a relay whose retry finds no place is told what its first attempt was', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: { limit: 1 } });
    const group = await startGroup(t, rigs, { upstreams: { a: {}, b: { max_concurrency: 1 } }, policies: IN_ORDER, settings: { eject_after: 0, queue_limit: 0 } });
    let release;
    rigs.b.usually(talk({ until: new Promise((done) => (release = done)) }));
    rigs.a.behave(FAULTS.badGateway());
    const held = group.open('held', { stream: true });
    await rigs.b.round();
    const got = await group.ask('Hi', { path: '/v1/chat/completions', messages: [{ role: 'user', content: 'Hi' }] });
    assert.equal(got.status, 502, got.text);
    release();
    assert.equal((await held.done).status, 200);
});

/* ---- policies */

describe('which of several', { concurrency: false }, () => {
    const models = (name, more = {}) => [{ name, ...more }];

    test('least: what runs at once is shared by weight', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {} });
        const group = await startGroup(t, rigs, { upstreams: { b: {}, a: { weight: 2 }, c: {} }, policies: { m: { policy: 'least' } } });
        let release;
        const gate = new Promise((done) => (release = done));
        rigs.list.forEach((rig) => rig.usually(heldAfterFirst(gate)));
        const all = Array.from({ length: 40 }, (_, i) => group.open(`${i}`, { stream: true }));
        await Promise.all(all.map((one) => one.until('.delta')));
        assert.deepEqual(rigs.counts(), { a: 20, b: 10, c: 10 });
        release();
        for (const one of all)
            assert.equal((await turnOf(one, captures, 'least')).outcome, 'completed');
    });

    test('round_robin: shares by weight, smoothly', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { weight: 3 }, b: {}, c: {} }, policies: { 'm*': { policy: 'round_robin' } }, workers: 1 });
        assert.deepEqual(await sharesOf(group, 50), { a: 30, b: 10, c: 10 });
        const order = rigs.rounds.map(({ rig }) => rig.name).join('');
        assert.ok(!/aaaa|bb|cc/.test(order), order);
    });

    test('a weight may be that of a name alone', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: models('m', { weight: 4 }) }, b: {} }, policies: { m: { policy: 'round_robin' } } });
        assert.deepEqual(await sharesOf(group, 20), { a: 16, b: 4 });
    });

    test('first: the order of the file, whatever the others have done', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { b: {}, a: {} }, policies: IN_ORDER });
        assert.deepEqual(await sharesOf(group, 6), { a: 0, b: 6 });
    });

    for (const policy of ['affinity', 'least', 'round_robin', 'first']) {
        test(`${policy}: a higher tier serves only when nobody of a lower one can`, async (t) => {
            const rigs = await startRigs(t, { a: { limit: 1 }, b: {}, c: {} });
            const group = await startGroup(t, rigs, { upstreams: { c: { models: models('m', { tier: 2 }) }, a: { max_concurrency: 1 }, b: { tier: 1 } }, policies: { m: { policy } } });
            assert.deepEqual(await sharesOf(group, 6), { a: 6, b: 0, c: 0 });
            let release;
            rigs.a.behave(heldAfterFirst(new Promise((done) => (release = done))), 1);
            const held = group.open('held', { stream: true });
            await rigs.a.round(6);
            assert.equal(sayer((await group.ask('while a is full')).json), 'b');
            await group.act('b', 'drain');
            assert.equal(sayer((await group.ask('while b is drained as well')).json), 'c');
            release();
            assert.equal((await turnOf(held, captures)).outcome, 'completed');
            await group.rest();
            assert.equal(sayer((await group.ask('a is back')).json), 'a');
        });
    }

    test('ties do not all fall to the first, with many workers as well', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {}, d: {} });
        const group = await startGroup(t, rigs, { policies: { m: { policy: 'least' } }, workers: 4 });
        assert.deepEqual(await sharesOf(group, 20), { a: 5, b: 5, c: 5, d: 5 });
    });

    test('load is counted on every path, until the last byte', async (t) => {
        const rigs = await startRigs(t, { a: { limit: 1 }, b: { limit: 1 }, c: { limit: 1 }, d: { limit: 1 } });
        const group = await startGroup(t, rigs, { defaults: { max_concurrency: 1 }, policies: { m: { policy: 'least' } } });
        const gates = [];
        rigs.list.forEach((rig) => rig.usually(talk({ until: new Promise((done) => gates.push(done)) })));
        const all = [
            group.open('a turn', { stream: true }),
            open(group.daemon, { model: 'm', stream: true, messages: [{ role: 'user', content: 'a chat' }] }, { path: '/v1/chat/completions' }),
            open(group.daemon, { model: 'm', prompt: 'a completion' }, { path: '/v1/completions' }),
            open(group.daemon, { model: 'm', input: 'an embedding' }, { path: '/v1/embeddings' }),
        ];
        await until(() => rigs.rounds.length, (n) => n === 4);
        assert.deepEqual(rigs.counts(), { a: 1, b: 1, c: 1, d: 1 });
        for (const { name } of rigs.list)
            assert.deepEqual([await group.metric('inFlight', { upstream: name }), await group.metric('limit', { upstream: name })], [1, 1]);
        gates.forEach((open_) => open_());
        for (const one of all)
            assert.equal((await one.done).status, 200);
        await group.rest();
        await until(async () => (await group.upstreams()), (seen) => Object.values(seen).every(({ in_flight: n, served }) => n === 0 && served === 1));
    });

    test('max_concurrency slots: as many as the server says it has', async (t) => {
        const rigs = await startRigs(t, { a: { kind: 'llama.cpp', slots: 3, limit: 3 }, b: { kind: 'llama.cpp', slots: 1, limit: 1 } });
        const group = await startGroup(t, rigs, { defaults: { max_concurrency: 'slots' }, settings: { queue_limit: 1000, queue_owner: 1000 } });
        await until(async () => [await group.metric('limit', { upstream: 'a' }), await group.metric('limit', { upstream: 'b' })].join(), (limits) => limits === '3,1', 30_000);
        rigs.list.forEach((rig) => rig.usually(talk({ deltas: 4, pause: 5 })));
        const all = await Promise.all(Array.from({ length: 40 }, (_, i) => group.ask(`${i}`)));
        assert.ok(all.every(({ status }) => status === 200));
        t.diagnostic(`at once: ${rigs.a.running.most} and ${rigs.b.running.most}`);
    });
});

/* ---- lists of models */

describe('the list of models', { concurrency: false }, () => {
    const list = async (group) => (await get(group.daemon, '/v1/models')).json;
    const ids = async (group) => (await list(group)).data.map(({ id }) => id);

    test('is the union, in the order of the file, each name once', async (t) => {
        const rigs = await startRigs(t, { a: { models: ['hidden', 'gpt-oss-20b', 'gpt-oss-120b'] }, b: { models: ['one', 'qwen', 'two'] }, c: { models: ['anything'] } });
        const group = await startGroup(t, rigs, {
            upstreams: { a: { models: ['qwen', 'gpt-oss-*'] }, b: { models: 'auto' }, c: { models: [{ name: 'fast', model: 'anything' }, 'qwen'] } },
            args: ['--model-alias', 'gpt-4o=fast', '--model-alias', '*=fast'],
        });
        const names = await until(() => ids(group), (seen) => seen.includes('one') && seen.includes('gpt-oss-20b'));
        assert.deepEqual(names.filter((name) => name !== 'gpt-4o'), ['qwen', 'gpt-oss-20b', 'gpt-oss-120b', 'one', 'two', 'fast']);
        assert.ok(names.includes('gpt-4o'), 'an alias without a star');
    });

    test('has of each name what its first upstream says, its window the smallest of all', async (t) => {
        const rigs = await startRigs(t, { a: { kind: 'vllm', models: ['big'], window: 32768 }, b: { kind: 'vllm', models: ['m'], window: 8192 }, c: { models: ['plain'] } });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: [{ name: 'm', model: 'big' }] }, b: { models: ['m'] }, c: { models: ['plain'] } } });
        const { object, data } = await until(() => list(group), ({ data: seen }) => seen[0]?.max_model_len === 8192);
        assert.equal(object, 'list');
        assert.deepEqual([data[0].id, data[0].root, data[0].owned_by], ['m', 'big', 'vllm']);
        const { id, object: kind, created, owned_by } = data.at(-1);
        assert.deepEqual([id, kind, typeof created, typeof owned_by], ['plain', 'model', 'number', 'string']);
        assert.deepEqual((await get(group.daemon, '/v1/models/m')).json, data[0]);
        checkError(await get(group.daemon, '/v1/models/nothing'), 404);
    });

    test('an upstream that does not answer keeps its last list, and is no error', async (t) => {
        const rigs = await startRigs(t, { a: { models: ['one'] }, b: { models: ['two'] } });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: 'auto' }, b: { models: 'auto' } }, settings: { [REFRESH_KEY]: '100ms' } });
        await until(() => ids(group), (seen) => seen.length === 2);
        await rigs.a.kill();
        rigs.b.health = 'silent';
        for (let i = 0; i < 3; i++) {
            assert.deepEqual(await ids(group), ['one', 'two']);
            await pause(150); /* so that another list would have been fetched */
        }
    });

    test('is asked for again by itself', async (t) => {
        const rigs = await startRigs(t, { a: { models: ['one'] } });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: 'auto' } }, settings: { [REFRESH_KEY]: '100ms' } });
        await until(() => ids(group), (seen) => seen.length === 1);
        const lists = () => rigs.a.checks.filter((path) => path === '/v1/models').length;
        const before = lists();
        await until(lists, (n) => n > before);
        rigs.a.models.push('late');
        await until(() => ids(group), (seen) => seen.includes('late'));
    });

    test('a model that a server has come to list is found by its name alone', async (t) => {
        const rigs = await startRigs(t, { a: { models: ['one'] } });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: 'auto' } } });
        await until(() => ids(group), (seen) => seen.length === 1);
        rigs.a.models.push('org/late');
        await until(async () => (await get(group.daemon, '/v1/models/org%2Flate')).status, (status) => status === 200, 20_000);
        assert.deepEqual(await ids(group), ['one', 'org/late']);
    });

    test('tells how much fits wherever a request goes, and has the catalogue of Codex', async (t) => {
        const rigs = await startRigs(t, { a: { kind: 'vllm', window: 32768 }, b: { kind: 'llama.cpp', window: 8192 }, c: { models: ['other'] } });
        const how = { upstreams: { a: {}, b: {}, c: { models: ['other'] } } };
        const group = await startGroup(t, rigs, how);
        const { data } = await until(() => list(group), ({ data: seen }) => seen[0]?.max_model_len === 8192);
        assert.deepEqual([data[0].owned_by, data[0].context_length, data[0].context_window, data[0].meta], ['vllm', 8192, 8192, undefined]);
        const { models, data: same } = (await get(group.daemon, '/v1/models?client_version=0.1')).json;
        assert.deepEqual(same, data);
        assert.deepEqual(models.map(({ slug, context_window }) => [slug, context_window]), [['m', 8192], ['other', undefined]]);
        assert.equal((await get(group.daemon, '/v1/models', { method: 'HEAD' })).status, 200);

        const plain = await startGroup(t, rigs, { ...how, args: ['--no-models-extras'] });
        const said = await until(() => list(plain), ({ data: seen }) => seen[0]?.max_model_len === 8192);
        assert.deepEqual(Object.keys(said.data[0]), ['id', 'object', 'created', 'owned_by', 'root', 'parent', 'max_model_len']);
        assert.equal((await get(plain.daemon, '/v1/models?client_version=0.1')).json.models, undefined);
    });

    test('without a list and without a name there is none: 503', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        rigs.a.health = 'silent';
        const group = await startGroup(t, rigs, { upstreams: { a: { models: 'auto' } } });
        checkError(await get(group.daemon, '/v1/models'), 503);
    });
});

/* ---- what each is told */

describe('what an upstream is told', { concurrency: false }, () => {
    const SECRET = 'sk-of-the-client-1';
    const headers = { authorization: `Bearer ${SECRET}` };
    const paths = [['/v1/responses', { input: 'Hi' }], ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }], ['/v1/completions', { prompt: 'Hi' }], ['/v1/embeddings', { input: 'Hi' }]];

    async function keysSeen(group, rig) {
        rig.reset();
        for (const [path, body] of paths)
            assert.equal((await ask(group.daemon, { model: 'm', ...body }, { path, headers })).status, 200);
        return [...new Set(rig.rounds.map(({ headers: { authorization } }) => authorization))];
    }

    for (const [how, entry, seen] of [
        ['without a key, none, and not that of the client', {}, undefined],
        ['pass_client_key: that of the client', { pass_client_key: true }, `Bearer ${SECRET}`],
        ['key: that', { key: 'sk-of-a' }, 'Bearer sk-of-a'],
        ['key_env: that of the variable', { key_env: 'KEY_OF_A' }, 'Bearer sk-from-the-environment'],
    ]) {
        test(how, async (t) => {
            const rigs = await startRigs(t, { a: {} });
            const group = await startGroup(t, rigs, { upstreams: { a: entry }, env: { KEY_OF_A: 'sk-from-the-environment' } });
            assert.deepEqual(await keysSeen(group, rigs.a), [seen]);
            for (const secret of ['sk-of-a', 'sk-from-the-environment', SECRET])
                assert.ok(!group.daemon.log.includes(secret));
        });
    }

    test('key_file: what stands in it, also when that has become another', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const file = folder(t, 'key');
        writeFileSync(file, 'sk-first\n', { mode: 0o600 });
        const group = await startGroup(t, rigs, { upstreams: { a: { key_file: file } } });
        assert.deepEqual(await keysSeen(group, rigs.a), ['Bearer sk-first']);
        await pause(1100); /* its time is another one, in whole seconds as well */
        writeFileSync(file, 'sk-second\n', { mode: 0o600 });
        await until(() => keysSeen(group, rigs.a), ([key]) => key === 'Bearer sk-second', 20_000);
    });

    test('kind, settings of models and times are its own', async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {} });
        const group = await startGroup(t, rigs, {
            defaults: { kind: 'openai', first_byte_timeout: '10s' },
            upstreams: {
                a: { models: ['a'] },
                b: { models: ['b'], kind: 'generic' },
                c: { models: ['c'], first_byte_timeout: '200ms', kind: 'generic', model_settings: ['c token_field=max_completion_tokens'] },
            },
        });
        const fieldsOf = async (model) => {
            assert.equal((await group.ask('Hi', { model, max_output_tokens: 77 })).status, 200);
            const { body } = rigs[model].rounds.at(-1);
            return [body.max_tokens, body.max_completion_tokens];
        };
        assert.deepEqual(await fieldsOf('a'), [undefined, 77]);
        assert.deepEqual(await fieldsOf('b'), [77, undefined]);
        assert.deepEqual(await fieldsOf('c'), [undefined, 77]);
        rigs.c.behave(FAULTS.silent(), 1);
        checkError(await group.ask('Hi', { model: 'c' }), 504, 'upstream_timeout');
        rigs.b.behave(talk({ wait: 400 }), 1);
        assert.equal((await group.ask('Hi', { model: 'b' })).status, 200);
    });
});

/* ---- relays */

describe('what is passed on goes to the right one', { concurrency: false }, () => {
    const s = sharedGroup({ a: {}, b: { models: ['embedder', 'writer'] } }, () => ({ upstreams: { a: { models: ['m'] }, b: { models: ['embedder', { name: 'fast', model: 'writer' }] } } }));

    for (const [path, body, rig, sent] of [
        ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }], x: 1.5 }, 'a', 'm'],
        ['/v1/chat/completions', { model: 'fast', messages: [{ role: 'user', content: 'Hi' }], stream: true }, 'b', 'writer'],
        ['/v1/completions', { model: 'fast', prompt: 'Hi' }, 'b', 'writer'],
        ['/v1/embeddings', { model: 'embedder', input: 'Hi' }, 'b', 'embedder'],
    ]) {
        test(`${path} for ${body.model}: ${rig} is asked for ${sent}, and for nothing else than before`, async () => {
            const got = await ask(s.group.daemon, body, { path });
            assert.equal(got.status, 200, got.text);
            assert.equal(s.rigs.rounds.length, 1);
            const [round] = s.rigs[rig].rounds;
            assert.equal(round.path, path);
            const { stream_options: _, ...asked } = round.body;
            assert.deepEqual(asked, { ...body, model: sent });
        });
    }

    test('a model that is named behind a long prompt is found all the same', async () => {
        const long = 'x'.repeat(300_000);
        const got = await ask(s.group.daemon, `{"prompt":"${long}","stream":false,"model":"fast"}`, { path: '/v1/completions' });
        assert.equal(got.status, 200);
        assert.deepEqual([s.rigs.b.rounds[0].body.model, s.rigs.b.rounds[0].body.prompt.length], ['writer', long.length]);
    });
});

/* ---- chains */

for (const way of ['previous_response_id', 'conversation']) {
    test(`${way}: a chain moves to another upstream, with all that was said`, async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {} });
        const group = await startGroup(t, rigs);
        const conversation = way === 'conversation' ? (await ask(group.daemon, {}, { path: '/v1/conversations' })).json.id : undefined;
        const first = (await group.ask('one', { conversation })).json;
        const at = sayer(first);
        await group.act(at, 'drain');
        const second = (await group.ask('two', conversation === undefined ? { previous_response_id: first.id } : { conversation })).json;
        const other = at === 'a' ? 'b' : 'a';
        assert.equal(sayer(second), other);
        assert.deepEqual(rigs[other].rounds[0].body.messages.map(({ content }) => content), ['one', said(first), 'two']);
    });
}

test('a chain may go on with another model, at another upstream', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {} });
    const group = await startGroup(t, rigs, { upstreams: { a: { models: ['x'] }, b: { models: ['y'] } } });
    const first = (await group.ask('one', { model: 'x' })).json;
    const second = (await group.ask('two', { model: 'y', previous_response_id: first.id })).json;
    assert.deepEqual([sayer(first), sayer(second), first.model, second.model], ['a', 'b', 'x', 'y']);
});

/* ---- what operators see */

test('operators see each upstream with what became of its rounds', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {} });
    const group = await startGroup(t, rigs, { upstreams: { a: { max_concurrency: 8, key: 'sk-secret-of-a' }, b: {} }, policies: IN_ORDER });
    for (let i = 0; i < 3; i++)
        assert.equal((await group.ask(`${i}`)).status, 200);
    rigs.a.behave(FAULTS.brokenAfterText(), 1);
    assert.equal((await turnOf(group.open('fails', { stream: true }), captures)).outcome, 'failed');
    const { a, b } = await until(() => group.upstreams(), (seen) => seen.a.failures === 1);
    assert.deepEqual([a.url, a.state, a.in_flight, a.limit], [rigs.a.url, 'up', 0, 8]);
    assert.ok(a.served >= 3, `${a.served}`);
    assert.deepEqual([b.state, b.limit, b.served, b.failures, b.last_error], ['up', null, 0, 0, null]);
    assert.ok(a.models.includes('m') && a.last_error.message.length > 0);
    rigs.a.usually(heldAfterFirst());
    const slow = group.open('slow', { stream: true });
    await slow.until('.delta');
    const [turn] = (await get(group.admin, '/admin/turns')).json.data;
    assert.deepEqual([turn.upstream, turn.model], ['a', 'm']);
    slow.destroy();
    assert.equal(checkStream(slow.text, { partial: true }).types[0], 'response.created');
    assert.equal(await group.metric('routing', { upstream: 'b' }), 0);
    assert.ok(await group.metric('attempts', { upstream: 'a', result: 'ok' }) >= 3);
});

captures.judge(test);
