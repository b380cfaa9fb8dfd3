/* upstreams.test.mjs -- the scripted upstreams do what tests of several upstreams rely on. */
import assert from 'node:assert/strict';
import http from 'node:http';
import test from 'node:test';
import { FAULTS } from './upstream_faults.mjs';
import { heldAfterFirst, hitRate, imbalance, startRigs, talk, until } from './upstreams.mjs';

/* One request, as the gateway makes it; gives { status, text, error } when it is over. */
function post(rig, body, { path = '/chat/completions', agent, signal } = {}) {
    return new Promise((done) => {
        let status;
        const request = http.request(rig.url + path, { method: 'POST', agent, signal, headers: { 'content-type': 'application/json' } }, (res) => {
            let text = '';
            status = res.statusCode;
            res.setEncoding('utf8').on('data', (piece) => (text += piece));
            res.on('end', () => done({ status, headers: res.headers, text }));
            res.on('error', (error) => done({ status, error }));
        });
        request.on('error', (error) => done({ status, error }));
        request.end(JSON.stringify(body));
    });
}

const question = (content, more = {}) => ({ model: 'm', stream: true, messages: [{ role: 'user', content }], ...more });
const dataOf = (text) => text.split('\n\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));

test('a rig says who it is, streamed and whole, on each path that asks a model', async (t) => {
    const { a } = await startRigs(t, { a: {} });
    const chat = await post(a, question('Hi'));
    assert.equal(dataOf(chat.text).map(({ choices: [one] }) => one?.delta.content ?? '').join(''), 'a says 0');
    assert.ok(chat.text.endsWith('data: [DONE]\n\n'));
    assert.equal(JSON.parse((await post(a, question('Hi', { stream: false }))).text).choices[0].message.content, 'a says 0');
    const completion = await post(a, { model: 'm', prompt: 'Hi', stream: true }, { path: '/completions' });
    assert.equal(dataOf(completion.text).map(({ choices: [one] }) => one?.text ?? '').join(''), 'a says 0');
    assert.equal(JSON.parse((await post(a, { model: 'm', input: 'Hi' }, { path: '/embeddings' })).text).data.length, 1);
    assert.deepEqual(a.questions, ['Hi', 'Hi', 'Hi', 'Hi']);
    assert.deepEqual(a.rounds.map(({ path }) => path.split('/').at(-1)), ['completions', 'completions', 'completions', 'embeddings']);
});

test('a rig behaves as it was told for so many rounds, and then as usual', async (t) => {
    const { a } = await startRigs(t, { a: {} });
    a.behave(FAULTS.busy(7), 2).behave(FAULTS.failed(), 1);
    const statuses = [];
    for (let i = 0; i < 4; i++)
        statuses.push((await post(a, question(`${i}`))).status);
    assert.deepEqual(statuses, [503, 503, 500, 200]);
    a.behave(FAULTS.rateLimited(3));
    assert.equal((await post(a, question('x'))).headers['retry-after'], '3');
    a.recover();
    assert.equal((await post(a, question('x'))).status, 200);
});

test('a rig that is killed resets what runs, refuses what comes, and comes back where it was', async (t) => {
    const { a } = await startRigs(t, { a: {} });
    a.usually(heldAfterFirst());
    const agent = new http.Agent({ keepAlive: true });
    const running = post(a, question('Hi'), { agent });
    await a.round();
    await a.kill();
    assert.equal((await running).error.code, 'ECONNRESET');
    assert.equal((await post(a, question('Hi'))).error.code, 'ECONNREFUSED');
    assert.equal(a.running.size, 0);
    await a.revive();
    a.usually(talk());
    assert.equal((await post(a, question('Hi'))).status, 200);
});

test('more rounds at once than the limit are told of, rounds one behind the other are not', async (t) => {
    const rigs = await startRigs(t, { a: { limit: 2 } });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
    rigs.a.usually(talk({ deltas: 4, pause: 2 }));
    await Promise.all(Array.from({ length: 40 }, (_, i) => post(rigs.a, question(`${i}`), { agent })));
    await rigs.check();
    assert.equal(rigs.a.running.most, 2);
    await Promise.all([1, 2, 3].map((i) => post(rigs.a, question(`at once ${i}`))));
    await assert.rejects(rigs.check(), /3 rounds at once/);
});

test('rounds that were left are not held against whoever comes next', async (t) => {
    const rigs = await startRigs(t, { a: { limit: 1 } });
    rigs.a.usually(heldAfterFirst());
    for (let i = 0; i < 20; i++) {
        const leaving = new AbortController();
        const left = post(rigs.a, question('left'), { signal: leaving.signal });
        await rigs.a.round(2 * i);
        leaving.abort();
        await Promise.all([left, post(rigs.a.behave(FAULTS.busy(), 1), question('next'))]);
    }
    await until(() => rigs.a.running.size, (n) => n === 0);
    await rigs.check();
});

test('one turn at two rigs at once is told of, one after the other is not', async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {} }, { turns: true });
    rigs.a.behave(FAULTS.errorFirst503(), 1);
    for (const rig of rigs.list)
        await post(rig, question('one turn'));
    await rigs.check();
    rigs.list.forEach((rig) => rig.usually(talk({ wait: 50 })));
    await Promise.all(rigs.list.map((rig) => post(rig, question('twice'))));
    await assert.rejects(rigs.check(), /2 rounds at once: "twice"/);
});

test('it tells how it feels as its kind of server does', async (t) => {
    const rigs = await startRigs(t, { l: { kind: 'llama.cpp', slots: 4, window: 4096 }, v: { kind: 'vllm' }, p: {} });
    const get = async (rig, path) => {
        const got = await fetch(new URL(path, rig.url));
        return [got.status, await got.text()];
    };
    assert.deepEqual(await get(rigs.l, '/health'), [200, '{"status":"ok"}']);
    assert.deepEqual(await get(rigs.v, '/health'), [200, '']);
    assert.equal((await get(rigs.p, '/health'))[0], 404);
    assert.equal(JSON.parse((await get(rigs.l, '/props'))[1]).total_slots, 4);
    assert.deepEqual(JSON.parse((await get(rigs.l, '/v1/models'))[1]).data.map(({ id, meta }) => [id, meta.n_ctx]), [['m', 4096]]);
    rigs.l.startLoading();
    for (const path of ['/health', '/v1/models'])
        assert.equal(JSON.parse((await get(rigs.l, path))[1]).error.message, 'Loading model');
    assert.equal((await post(rigs.l, question('Hi'))).status, 503);
    rigs.l.recover();
    assert.equal((await post(rigs.l, question('Hi'))).status, 200);
    assert.deepEqual(rigs.l.checks, ['/health', '/props', '/v1/models', '/health', '/v1/models']);
});

test('what goes wrong, goes wrong as it says', async (t) => {
    const { a } = await startRigs(t, { a: {} });
    const seen = async (name, ...args) => post(a.behave(FAULTS[name](...args), 1), question(name));
    for (const [name, status] of [['overloaded', 429], ['rateLimited', 429], ['busy', 503], ['unavailable', 503], ['loading', 503], ['badGateway', 502], ['gatewayTimeout', 504],
        ['failed', 500], ['notImplemented', 501], ['badRequest', 400], ['unprocessable', 422], ['modelMissing', 404], ['modelMissingInError', 404], ['modelNotPulled', 404], ['noSuchPath', 404]])
        assert.equal((await seen(name)).status, status, name);
    for (const name of ['reset', 'closed', 'halfHead', 'noHttp'])
        assert.ok((await seen(name)).error, name);
    for (const name of ['resetAfterHead', 'brokenAfterHead', 'brokenAfterRole', 'brokenAfterText']) {
        const { status, error } = await seen(name);
        assert.deepEqual([status, error.code], [200, 'ECONNRESET'], name);
    }
    for (const [name, code] of [['errorFirst429', 'rate_limit_exceeded'], ['errorFirst503', 503], ['errorFirst400', 400], ['errorFirstWithoutCode', null]])
        assert.equal(dataOf((await seen(name)).text)[0].error.code, code, name);
    assert.match((await seen('page')).text, /<html>/);
    assert.deepEqual(dataOf((await seen('noEvents')).text), []);
    await until(() => a.running.size, (n) => n === 0);
});

for (const name of ['silent', 'silentAfterHead', 'silentAfterRole', 'silentAfterText']) {
    test(`${name}: nothing more comes until somebody leaves`, async (t) => {
        const { a } = await startRigs(t, { a: {} });
        a.behave(FAULTS[name](), 1);
        const leaving = new AbortController();
        const got = post(a, question('Hi'), { signal: leaving.signal });
        await a.round();
        assert.equal(await Promise.race([got, new Promise((done) => setTimeout(done, 100, 'nothing'))]), 'nothing');
        assert.equal(a.running.size, 1);
        leaving.abort();
        await until(() => a.running.size, (n) => n === 0);
        assert.ok(a.rounds[0].isLeft);
    });
}

test('usage has what was cached, and figures are made of it', async (t) => {
    const rigs = await startRigs(t, { a: { kind: 'llama.cpp', slots: 2 }, b: { kind: 'llama.cpp', slots: 1 } });
    const long = 'x'.repeat(4000);
    const usageOf = async (rig, text) => dataOf((await post(rig, question(text))).text).at(-1).usage;
    assert.equal((await usageOf(rigs.a, long)).prompt_tokens_details.cached_tokens, 0);
    const again = await usageOf(rigs.a, `${long} and more`);
    assert.equal(again.prompt_tokens_details.cached_tokens, 1002, 'what stands in front of the text, and the text');
    const rate = hitRate(rigs.rounds);
    assert.ok(rate > 0.49 && rate < 0.5, `${rate}`);
    await usageOf(rigs.b, long);
    assert.deepEqual(rigs.counts(), { a: 2, b: 1 });
    assert.equal(imbalance([3, 1, 2]), 1.5);
    assert.equal(imbalance(rigs.list.map(({ load }) => load)).toFixed(2), '1.33');
});
