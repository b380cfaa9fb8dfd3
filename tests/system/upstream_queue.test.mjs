/* upstream_queue.test.mjs -- rounds that find no upstream with room wait for one (OPERATIONS 5.4): who is next, what
 * those are told who wait in vain, and what happens meanwhile.
 *
 * The rigs hold what they have until a gate opens; then the order in which rounds come to them is the order in which
 * they were granted. That, and not time, is what is judged.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { startGroup, turnOf } from '../lib/group.mjs';
import { declared, shown, writeServers } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream } from '../lib/upstream.mjs';
import { pause, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const NO_LIMITS = { queue_limit: 10_000, queue_owner: 10_000, queue_timeout: '600s' };
const OWNER_FULL = /^Too many requests of yours are waiting\. Please try again in (\d+)s\.$/;
const TRY_AGAIN = /Please try again in (\d+)s\.$/;
const NOTHING_KNOWN_S = 5;

/* A file of keys, name to settings; and the header of one. */
const keyOf = (name) => `sk-of-${name}-0000000001`;
const bearer = (name) => ({ authorization: `Bearer ${keyOf(name)}` });
function keysFile(t, owners) {
    const file = folder(t, 'keys');
    const lines = Object.entries(owners).map(([name, settings]) => `${name} ${createHash('sha256').update(keyOf(name)).digest('hex')} ${settings}`.trim());
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    return file;
}

/* One upstream with room for so many, which holds what it has until the gate opens. */
async function place(t, { room = 1, owners, settings = {}, ...how } = {}) {
    const rigs = await startRigs(t, { a: { limit: room } }, { turns: true });
    const group = await startGroup(t, rigs, { upstreams: { a: { max_concurrency: room } }, ...how,
        settings: { ...NO_LIMITS, ...(owners && { api_keys_file: keysFile(t, owners) }), ...settings } });
    let openGate;
    rigs.a.usually(talk({ until: new Promise((done) => (openGate = done)) }));
    return { group, rigs, a: rigs.a, openGate, waiting: (n) => group.counted('queue', {}, n) };
}

/* So many requests of one at once; resolves when they wait, behind `before` others. */
async function line(p, n, { owner, name = owner ?? 'x', before = 0, ...how } = {}) {
    const all = Array.from({ length: n }, (_, i) => p.group.open(`${name} ${i}`, { headers: owner && bearer(owner), ...how }));
    await p.waiting(before + n);
    return all;
}

/* Fills the room, so that everything else waits. */
async function fill(p, room, how = {}) {
    const all = Array.from({ length: room }, (_, i) => p.group.open(`holder ${i}`, how));
    await until(() => p.a.running.size, (n) => n === room);
    return all;
}

const ownersOf = (rig) => rig.questions.map((question) => question.split(' ')[0]).filter((name) => name !== 'holder');

async function allServed(exchanges) {
    for (const one of exchanges) {
        const { outcome, got } = await turnOf(one, captures, 'served');
        assert.equal(outcome, 'completed', got.text);
    }
}

/* ---- who is next */

describe('who is next', { concurrency: false }, () => {
    test('one owner with 200 requests and nine with two each: the nine wait at most twice their fair time', { timeout: patience(120_000) }, async (t) => {
        const OWNERS = 10, ROOM = 4;
        const few = Array.from({ length: OWNERS - 1 }, (_, i) => `few${i}`);
        const p = await place(t, { room: ROOM, owners: { many: '', ...Object.fromEntries(few.map((name) => [name, ''])) } });
        const all = Array.from({ length: 200 }, (_, i) => p.group.open(`many ${i}`, { headers: bearer('many') }));
        await until(() => p.a.running.size, (n) => n === ROOM);
        await p.waiting(200 - ROOM);
        for (const [i, owner] of few.entries())
            all.push(...await line(p, 2, { owner, before: 200 - ROOM + 2 * i }));
        p.openGate();
        await allServed(all);
        const order = ownersOf(p.a).slice(ROOM);
        for (const owner of few) {
            const places = order.flatMap((name, i) => (name === owner ? [i + 1] : []));
            assert.equal(places.length, 2);
            places.forEach((at, k) => assert.ok(at <= 2 * OWNERS * (k + 1), `request ${k + 1} of ${owner} is the ${at}th to be served`));
        }
        t.diagnostic(`the last of the nine is served as the ${order.findLastIndex((name) => name !== 'many') + 1}th of ${order.length}`);
        assert.equal(p.a.running.most, ROOM);
    });

    test('one who comes to 100 that wait, waits for one round more than without them', async (t) => {
        const p = await place(t, { owners: { many: '', one: '' } });
        const all = [...await fill(p, 1, { headers: bearer('many') }), ...await line(p, 100, { owner: 'many' }), ...await line(p, 1, { owner: 'one', before: 100 })];
        p.openGate();
        await allServed(all);
        const at = ownersOf(p.a).indexOf('one');
        assert.ok(at <= 1, `${at} are served before`);
    });

    test('weights of 3 and 1 are shares of 3 and 1, over 400 grants', { timeout: patience(120_000) }, async (t) => {
        const p = await place(t, { room: 4, owners: { three: 'weight=3', one: 'weight=1' } });
        const all = [...await fill(p, 4, { headers: bearer('one') }), ...await line(p, 340, { owner: 'one' }), ...await line(p, 340, { owner: 'three', before: 340 })];
        p.openGate();
        await allServed(all);
        const n = ownersOf(p.a).slice(0, 400).filter((name) => name === 'three').length;
        t.diagnostic(`${n} of 400`);
        assert.ok(n >= 270 && n <= 330, `${n} of 400`);
    });

    test('who has a lower priority is served every tenth time, while others wait', async (t) => {
        const p = await place(t, { owners: { high: 'priority=high', normal: '', low: 'priority=low' } });
        const all = [...await fill(p, 1, { headers: bearer('normal') }), ...await line(p, 20, { owner: 'low' }), ...await line(p, 60, { owner: 'normal', before: 20 })];
        p.openGate();
        await allServed(all);
        const order = ownersOf(p.a);
        for (let n = 10; n <= 60; n += 10) {
            const low = order.slice(0, n).filter((name) => name === 'low').length;
            assert.ok(low >= n / 10 - 1 && low <= n / 10 + 1, `${low} of ${n}: ${order.slice(0, n)}`);
        }
    });

    test('of three priorities the highest comes first', async (t) => {
        const p = await place(t, { owners: { high: 'priority=high', normal: '', low: 'priority=low' } });
        const all = [...await fill(p, 1, { headers: bearer('normal') }), ...await line(p, 3, { owner: 'low' }), ...await line(p, 3, { owner: 'normal', before: 3 }), ...await line(p, 3, { owner: 'high', before: 6 })];
        p.openGate();
        await allServed(all);
        assert.deepEqual(ownersOf(p.a), [...Array(3).fill('high'), ...Array(3).fill('normal'), ...Array(3).fill('low')]);
    });

    test('first come, first served, within an owner', async (t) => {
        const p = await place(t);
        const all = await fill(p, 1);
        for (let i = 0; i < 15; i++) {
            all.push(p.group.open(`x ${i}`, { stream: i % 2 === 0 }));
            await p.waiting(i + 1);
        }
        p.openGate();
        await allServed(all);
        assert.deepEqual(p.a.questions.slice(1), Array.from({ length: 15 }, (_, i) => `x ${i}`));
    });

    test('without keys, an address is an owner', async (t) => {
        const p = await place(t, { settings: { trusted_proxies: '127.0.0.0/8' } });
        const from = (last) => ({ headers: { 'x-forwarded-for': `192.0.2.${last}` } });
        const all = [...await fill(p, 1, from(1)), ...await line(p, 20, { name: 'many', ...from(1) }), ...await line(p, 2, { name: 'few', before: 20, ...from(2) })];
        p.openGate();
        await allServed(all);
        assert.ok(ownersOf(p.a).lastIndexOf('few') <= 4, ownersOf(p.a).join());
    });

    test('a turn that has begun comes before new ones of its owner', async (t) => {
        let finish;
        const server = await startMcp({ tools: { slow: () => new Promise((done) => (finish = () => done('done'))) } });
        t.after(() => server.close());
        const file = folder(t, 'mcp.json');
        writeServers(file, { fake: server });
        const p = await place(t, { args: ['--mcp-config', file] });
        p.a.behave(callStream([shown('fake', 'slow'), {}, 'c1']), 1);
        const turn = p.group.open('X', { tools: [declared('fake', { require_approval: 'never' })], stream: true });
        await until(() => finish);
        const all = [...await fill(p, 1), ...await line(p, 3, { name: 'T' })];
        finish();
        await p.waiting(4);
        p.openGate();
        await allServed([turn, ...all]);
        assert.deepEqual(p.a.questions.slice(0, 3), ['X', 'holder 0', 'X']);
    });

    test('each group has a queue of its own', async (t) => {
        const rigs = await startRigs(t, { a: { limit: 1 }, b: { limit: 1 } });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: ['x'], max_concurrency: 1 }, b: { models: ['y'], max_concurrency: 1 } }, settings: { ...NO_LIMITS, queue_limit: 2 } });
        let release;
        rigs.a.usually(talk({ until: new Promise((done) => (release = done)) }));
        const all = Array.from({ length: 3 }, (_, i) => group.open(`${i}`, { model: 'x' }));
        await group.counted('queue', {}, 2);
        for (let i = 0; i < 5; i++)
            assert.equal((await group.ask(`${i}`, { model: 'y' })).status, 200);
        checkError(await group.ask('one more', { model: 'x' }), 503, 'server_is_overloaded');
        release();
        await allServed(all);
    });

    test('whoever has room first, serves next', async (t) => {
        const rigs = await startRigs(t, { a: { limit: 2 }, b: { limit: 2 }, c: { limit: 2 } }, { turns: true });
        const group = await startGroup(t, rigs, { defaults: { max_concurrency: 2 }, settings: NO_LIMITS, workers: 4 });
        rigs.list.forEach((rig, i) => rig.usually(talk({ deltas: 5, pause: 1 + 4 * i })));
        const all = Array.from({ length: 150 }, (_, i) => group.open(`${i}`, { stream: i % 2 === 0 }));
        await allServed(all);
        t.diagnostic(JSON.stringify(rigs.counts()));
        assert.equal(rigs.rounds.length, 150);
        assert.ok(rigs.a.rounds.length > rigs.c.rounds.length, 'the quick one has done more');
        await group.rest();
    });
});

/* ---- who waits in vain */

describe('who is told to come again', { concurrency: 4 }, () => {
    const inSeconds = (got) => Number(got.headers['retry-after']);

    test('an owner whose share is full: 429', async (t) => {
        const p = await place(t, { owners: { one: '', two: '' }, settings: { queue_owner: 3, early_error_window: '5s' } });
        const all = [...await fill(p, 1, { headers: bearer('one') }), ...await line(p, 3, { owner: 'one' })];
        for (const stream of [false, true]) {
            const got = await p.group.ask('one too many', { headers: bearer('one'), stream });
            captures.keep('owner full.json', got.bytes, '--kind', 'error');
            const [, seconds] = checkError(got, 429, 'rate_limit_exceeded').message.match(OWNER_FULL);
            assert.deepEqual([Number(seconds), inSeconds(got)], [NOTHING_KNOWN_S, NOTHING_KNOWN_S]);
        }
        all.push(...await line(p, 3, { owner: 'two', before: 3 }));
        assert.equal(await p.group.metric('rejected', { reason: 'queue_owner' }), 2);
        p.openGate();
        await allServed(all);
        assert.equal(p.a.rounds.length, 7, 'nothing of the others was asked');
    });

    test('a group that is full: 503', async (t) => {
        const p = await place(t, { owners: { one: '', two: '' }, settings: { queue_limit: 3 } });
        const all = [...await fill(p, 1, { headers: bearer('one') }), ...await line(p, 3, { owner: 'one' })];
        for (const owner of ['one', 'two']) {
            const got = await p.group.ask('too many', { headers: bearer(owner) });
            captures.keep('group full.json', got.bytes, '--kind', 'error');
            checkError(got, 503, 'server_is_overloaded');
            assert.ok(inSeconds(got) >= 1 && inSeconds(got) <= 60);
        }
        assert.equal(await p.group.metric('rejected', { reason: 'queue_full' }), 2);
        p.openGate();
        await allServed(all);
    });

    test('queue_limit 0: nothing waits', async (t) => {
        const p = await place(t, { room: 2, settings: { queue_limit: 0 } });
        const all = await fill(p, 2);
        checkError(await p.group.ask('no room'), 503, 'server_is_overloaded');
        assert.equal(await p.group.metric('queue'), 0);
        p.openGate();
        await allServed(all);
        await p.group.rest();
        assert.equal((await p.group.ask('room')).status, 200);
    });

    for (const stream of [false, true]) {
        test(`queue_timeout, before the head${stream ? ' of a stream' : ''}: 503`, async (t) => {
            const p = await place(t, { settings: { queue_timeout: '300ms', early_error_window: '20s' } });
            const all = await fill(p, 1);
            const got = await p.group.ask('waits in vain', { stream });
            captures.keep('queue timeout.json', got.bytes, '--kind', 'error');
            checkError(got, 503, 'server_is_overloaded');
            assert.equal(await p.group.metric('rejected', { reason: 'queue_timeout' }), 1);
            assert.equal(await p.group.metric('waited', { result: 'timeout' }), 1);
            p.openGate();
            await allServed(all);
            assert.deepEqual(p.a.questions, ['holder 0']);
        });
    }

    test('queue_timeout in a stream that has begun: response.failed, to be tried again', async (t) => {
        const p = await place(t, { settings: { queue_timeout: '300ms', early_error_window: '0s' } });
        const all = await fill(p, 1);
        const { outcome, code, response } = await turnOf(p.group.open('waits in vain', { stream: true }), captures, 'queue timeout');
        assert.deepEqual([outcome, code], ['failed', 'rate_limit_exceeded']);
        const [, seconds] = response.error.message.match(TRY_AGAIN);
        assert.ok(seconds >= 1 && seconds <= 60);
        p.openGate();
        await allServed(all);
    });

    test('a policy may have limits of its own', async (t) => {
        const p = await place(t, { policies: { m: { queue_limit: 1, queue_owner: 5, queue_timeout: '600s' } }, settings: { queue_timeout: '100ms' } });
        const all = [...await fill(p, 1), ...await line(p, 1)];
        checkError(await p.group.ask('too many'), 503, 'server_is_overloaded');
        await pause(400); /* longer than the time that holds for others */
        p.openGate();
        await allServed(all);
    });

    test('bodies that wait are counted: 503 above max_queue_memory', async (t) => {
        const p = await place(t, { settings: { max_queue_memory: '1MiB' } });
        const all = [...await fill(p, 1), p.group.open(`long ${'x'.repeat(700_000)}`)];
        await p.waiting(1);
        checkError(await p.group.ask(`longer ${'x'.repeat(700_000)}`), 503, 'server_is_overloaded');
        assert.equal(await p.group.metric('rejected', { reason: 'queue_memory' }), 1);
        all.push(...await line(p, 1, { before: 1, name: 'short' }));
        p.openGate();
        await allServed(all);
    });

    test('what is passed on waits as well, and is told the same', async (t) => {
        const p = await place(t, { settings: { queue_limit: 1 } });
        const chat = (question, more = {}) => open(p.group.daemon, { model: 'm', messages: [{ role: 'user', content: question }], ...more }, { path: '/v1/chat/completions' });
        const all = await fill(p, 1);
        const waits = chat('waits', { stream: true });
        await p.waiting(1);
        checkError(await chat('too many').done, 503, 'server_is_overloaded');
        p.openGate();
        await allServed(all);
        assert.match((await waits.done).text, /\[DONE\]\n\n$/);
        assert.deepEqual(p.a.questions, ['holder 0', 'waits']);
    });
});

/* ---- meanwhile */

describe('while one waits', { concurrency: 4 }, () => {
    test('a client that leaves, leaves the queue, and its upstream never hears of it', async (t) => {
        const p = await place(t);
        const all = await fill(p, 1);
        const waiting = await line(p, 12, { stream: true });
        for (const i of [0, 3, 4, 11])
            waiting[i].destroy();
        await p.waiting(8);
        assert.equal(await p.group.metric('waited', { result: 'cancelled' }), 4);
        assert.equal(await p.group.metric('antiphon_client_disconnects_total', { phase: 'queue' }), 4);
        p.openGate();
        await allServed([...all, ...waiting.filter((_, i) => ![0, 3, 4, 11].includes(i))]);
        assert.deepEqual(p.a.questions.slice(1).map((question) => Number(question.split(' ')[1])).sort((x, y) => x - y), [1, 2, 5, 6, 7, 8, 9, 10]);
        await p.group.rest();
    });

    test('a stream begins, and has heartbeats', async (t) => {
        const p = await place(t, { settings: { early_error_window: '50ms', heartbeat_interval: '100ms', keepalive_interval: '150ms' } });
        const all = await fill(p, 1);
        const turn = p.group.open('waits', { stream: true });
        await turn.until('response.in_progress');
        await turn.until(() => (turn.text.match(/^:/gm) ?? []).length + (turn.text.match(/"type":"keepalive"/g) ?? []).length >= 3);
        assert.ok(turn.text.includes('"type":"keepalive"'));
        assert.deepEqual(p.a.questions, ['holder 0']);
        p.openGate();
        await allServed([...all, turn]);
    });

    test('it is not a time that the upstream takes', async (t) => {
        const p = await place(t, { settings: { first_byte_timeout: `${patience(500)}ms`, total_timeout: `${patience(2000)}ms` } });
        p.a.usually(talk({ wait: 300, deltas: 3 })); /* twelve of them take longer than either */
        const all = Array.from({ length: 12 }, (_, i) => p.group.open(`${i}`, { stream: i % 2 === 0 }));
        await allServed(all);
    });

    test('an upstream that comes back serves those that wait', async (t) => {
        const rigs = await startRigs(t, { a: { limit: 1 }, b: { limit: 1 } });
        const group = await startGroup(t, rigs, { defaults: { max_concurrency: 1 }, settings: NO_LIMITS });
        await group.act('b', 'drain');
        let release;
        rigs.a.usually(talk({ until: new Promise((done) => (release = done)) }));
        const all = Array.from({ length: 4 }, (_, i) => group.open(`${i}`));
        await group.counted('queue', {}, 3);
        await group.act('b', 'resume');
        await until(() => rigs.b.rounds.length, (n) => n === 3);
        release();
        await allServed(all);
        assert.deepEqual(rigs.counts(), { a: 1, b: 3 });
    });

    test('a limit that is raised by another file lets them in', async (t) => {
        const p = await place(t);
        const all = [...await fill(p, 1), ...await line(p, 3)];
        p.a.limit = p.a.running.limit = 4;
        p.group.change({ upstreams: { a: { max_concurrency: 4 } } });
        assert.equal((await p.group.reload()).status, 200);
        await until(() => p.a.running.size, (n) => n === 4);
        p.openGate();
        await allServed(all);
    });

    test('a gateway that ends refuses those that wait without a head', async (t) => {
        const p = await place(t, { settings: { early_error_window: '20s' } });
        const all = [...await fill(p, 1), ...await line(p, 3)];
        const ended = p.group.stop();
        for (const one of all.slice(1))
            checkError(await one.done, 503, 'server_is_overloaded');
        p.openGate();
        await allServed(all.slice(0, 1));
        await ended;
        p.group.stop = () => {};
    });

    test('the status tells how long the queues are, and all rests at 0', async (t) => {
        const p = await place(t);
        const all = [...await fill(p, 1), ...await line(p, 5)];
        assert.equal(await p.group.metric('queue', { group: 'm' }), 5);
        p.openGate();
        await allServed(all);
        await p.group.rest();
        assert.equal(await p.group.metric('waited', { result: 'granted' }), 6, 'those that did not wait as well');
    });
});

captures.judge(test);
