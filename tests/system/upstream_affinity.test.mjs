/* upstream_affinity.test.mjs -- the next request of a conversation finds what the last one left in its server's cache
 * (OPERATIONS 4.5): hit rates beside those of one big server and of going round, and who stays where.
 *
 * The upstreams here know prompts as such servers do (kv_cache.mjs) and say in their usage how much of one they knew.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { WAYS, conversations, faithfulness, filler, hold, placesOf, turn } from '../lib/conversations.mjs';
import { folder } from '../lib/folder.mjs';
import { said, sayer, startGroup, turnOf } from '../lib/group.mjs';
import { BlockCache, SlotCache } from '../lib/kv_cache.mjs';
import { patience } from '../lib/patience.mjs';
import { heldAfterFirst, hitRate, imbalance, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const PATIENT = { queue_limit: 1000, queue_owner: 1000, queue_timeout: '60s' };
const CHOICES = ['only', 'key', 'prefix', 'least', 'overflow', 'failover'];
const HITS_OF_THE_BIG_ONE = 0.9, LOAD = 1.25, FAITHFUL = 0.95;

/* Answers that no two turns share, which take longer the more of the prompt is new. */
const answering = (length) => (round, rig) =>
    talk({ text: `${rig.name} answers: ${filler(length, round.question.length + round.body.messages.length)}`, perToken: 0.02, pause: 1 })(round, rig);

const cached = (rounds) => rounds.reduce((sum, { use }) => sum + use.cached, 0);
const percent = (part) => `${(100 * part).toFixed(1)} %`;

/* ---- the same talks, with one big server, with many of which each serves who comes back, and going round */

const specsOf = (n, one) => ({
    whole: one(n, 'whole'),
    ...Object.fromEntries(Array.from({ length: n }, (_, i) => [`stay-${i}`, one(1, 'stay')])),
    ...Object.fromEntries(Array.from({ length: n }, (_, i) => [`round-${i}`, one(1, 'round')])),
});

async function compare(t, n, one, talksOf, entry = {}) {
    const rigs = await startRigs(t, specsOf(n, one));
    const group = await startGroup(t, rigs, {
        upstreams: Object.fromEntries(rigs.list.map(({ name, models }) => [name, { models, ...entry }])),
        policies: { round: { policy: 'round_robin' } },
        settings: PATIENT,
        workers: 4,
    });
    rigs.list.forEach((rig) => rig.usually(answering(300)));
    const seen = {};
    for (const model of ['whole', 'stay', 'round']) {
        const talks = talksOf(model);
        await hold(group, talks, { model });
        const own = rigs.list.filter(({ models }) => models.includes(model));
        const rounds = own.flatMap((rig) => rig.rounds);
        seen[model] = { cached: cached(rounds), rate: hitRate(rounds), load: imbalance(own.map(({ load }) => load)), rounds: own.map(({ rounds: { length } }) => length), faithful: faithfulness(own, talks) };
        const { rate, load, faithful, rounds: counts } = seen[model];
        t.diagnostic(`${model}: ${percent(rate)} of the prompts were cached, load ${load.toFixed(2)} of the mean, ${percent(faithful)} stayed, rounds ${counts}`);
    }
    return { ...seen, group };
}

function checkComparison({ whole, stay, round }) {
    assert.ok(stay.cached >= HITS_OF_THE_BIG_ONE * whole.cached, `${stay.cached} of ${whole.cached} tokens`);
    assert.ok(stay.cached > round.cached, 'more than by going round');
    assert.ok(stay.load <= LOAD, `the busiest has ${stay.load} of the mean`);
}

test('four servers with a quarter of the cache each hit as one with all of it', { timeout: patience(300_000) }, async (t) => {
    const N = 4, TALKS = 32, TURNS = 12;
    const grown = (1600 + 1200 + TURNS * (600 + 320)) / 4; /* tokens of a talk at its end */
    const tokens = 1.5 * TALKS * grown;
    const { group, ...seen } = await compare(t, N, (part, model) => ({ kind: 'vllm', models: [model], cache: new BlockCache({ tokens: tokens * part / N }) }),
        (name) => conversations({ name, n: TALKS, turns: TURNS, ways: Object.keys(WAYS).filter((way) => way !== 'keyed'), common: 1600, own: 1200, length: 560 }));
    checkComparison(seen);
    await group.rest();
});

test('two servers with four slots each hit as one with eight', { timeout: patience(300_000) }, async (t) => {
    const SLOTS = 4;
    const { group, ...seen } = await compare(t, 2, (part, model) => ({ kind: 'llama.cpp', models: [model], slots: SLOTS * part, limit: SLOTS * part, cache: new SlotCache({ slots: SLOTS * part }) }),
        (name) => conversations({ name, n: 7, turns: 20, ways: Object.keys(WAYS).filter((way) => way !== 'keyed'), common: 200, own: 1200, length: 560 }), { max_concurrency: 'slots' });
    checkComparison(seen);
    await group.rest();
});

/* ---- who stays */

for (const workers of [1, 4]) {
    test(`40 conversations of 20 turns over four upstreams stay where they are, in every way, with ${workers} worker${workers > 1 ? 's' : ''}`, { timeout: patience(300_000) }, async (t) => {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {}, d: {} });
        const group = await startGroup(t, rigs, { settings: PATIENT, workers });
        rigs.list.forEach((rig) => rig.usually(talk({ wait: 40, deltas: 6, pause: 4 }))); /* most of their time they are asked */
        const talks = conversations({ n: 40, turns: 20, ways: Object.keys(WAYS), common: 400, own: 400, length: 300 });
        await hold(group, talks);
        const parts = Object.keys(WAYS).map((way) => `${way} ${percent(faithfulness(rigs.list, talks.filter((one) => one.way === way)))}`);
        const all = faithfulness(rigs.list, talks);
        t.diagnostic(`${percent(all)} stayed: ${parts.join(', ')}`);
        assert.ok(all >= FAITHFUL, `${percent(all)}: ${parts.join(', ')}`);
        const load = imbalance(rigs.list.map(({ rounds }) => rounds.length));
        t.diagnostic(`rounds ${JSON.stringify(rigs.counts())}, load ${load.toFixed(2)} of the mean`);
        assert.ok(load <= LOAD);
        const chosen = Object.fromEntries(await Promise.all(CHOICES.map(async (choice) => [choice, await group.metric('routing', { choice })])));
        t.diagnostic(JSON.stringify(chosen));
        assert.equal(Object.values(chosen).reduce((sum, n) => sum + n, 0), 800, 'each round was chosen in one way');
        assert.ok(chosen.key + chosen.prefix >= FAITHFUL * 760);
        for (const { body } of rigs.rounds)
            assert.equal(body.id_slot, undefined);
    });
}

test('a beginning that 200 clients share overloads nobody', { timeout: patience(120_000) }, async (t) => {
    const rigs = await startRigs(t, { a: {}, b: {}, c: {}, d: {} });
    const group = await startGroup(t, rigs, { settings: PATIENT, workers: 4 });
    const instructions = filler(20_000, 7);
    assert.equal((await group.ask('first', { instructions })).status, 200);
    const at = rigs.list.find(({ rounds }) => rounds.length === 1);
    await group.rest();
    assert.equal((await group.ask('second', { instructions })).status, 200);
    assert.equal(at.rounds.length, 2, 'while nothing runs, who knows the beginning is asked');
    rigs.reset();
    let release;
    const gate = new Promise((done) => (release = done));
    rigs.list.forEach((rig) => rig.usually(heldAfterFirst(gate)));
    const all = Array.from({ length: 200 }, (_, i) => group.open(`client ${i}`, { instructions, stream: true }));
    await until(() => rigs.rounds.length, (n) => n === 200, 30_000);
    const bound = Math.ceil(1.25 / 4 * 201);
    t.diagnostic(JSON.stringify(rigs.counts()));
    for (const { name, running } of rigs.list)
        assert.ok(running.size <= bound + 1, `${name} has ${running.size} of 200`);
    release();
    for (const one of all)
        assert.equal((await turnOf(one, captures, 'hot')).outcome, 'completed');
});

/* ---- what makes a request one of a conversation */

describe('who is asked', { concurrency: 4 }, () => {
    async function four(t, how = {}) {
        const rigs = await startRigs(t, { a: {}, b: {}, c: {}, d: {} });
        return { rigs, group: await startGroup(t, rigs, { ...how, settings: { ...PATIENT, ...how.settings } }) };
    }
    /* Nothing of the request before may still count as load: its end may be read after the client has it. */
    const place = async (group, question, how) => {
        await group.rest();
        return sayer((await group.ask(question, how)).json);
    };
    const quietTurn = async (group, talk, k) => {
        await group.rest();
        return turn(group, talk, k);
    };
    const keysFile = (t) => {
        const file = folder(t, 'keys');
        writeFileSync(file, ['one', 'two'].map((name) => `${name} ${createHash('sha256').update(`sk-of-${name}-000001`).digest('hex')}\n`).join(''), { mode: 0o600 });
        return file;
    };
    const bearer = (name) => ({ authorization: `Bearer sk-of-${name}-000001` });

    test('talks that say nothing in common are spread evenly', async (t) => {
        const { group, rigs } = await four(t);
        for (const one of conversations({ n: 40, turns: 1, own: 2000 }))
            await quietTurn(group, one, 0);
        assert.deepEqual(rigs.counts(), { a: 10, b: 10, c: 10, d: 10 });
    });

    for (const way of Object.keys(WAYS)) {
        test(`${way}: one turn behind the other, it stays, while others come and go`, async (t) => {
            const { group, rigs } = await four(t);
            const talks = conversations({ n: 8, turns: 6, ways: [way], own: 600, length: 200 });
            for (let k = 0; k < 6; k++) {
                for (const one of talks)
                    await quietTurn(group, one, k);
                for (const other of conversations({ n: 3, turns: 1, name: `other-${k}`, own: 300 }))
                    await quietTurn(group, other, 0);
            }
            for (const one of talks)
                assert.equal(new Set(placesOf(rigs.list, one)).size, 1, `${one.name}: ${placesOf(rigs.list, one)}`);
            assert.equal(await group.metric('routing', { choice: way === 'resent' ? 'prefix' : 'key' }), 40);
        });
    }

    test('a key counts for its owner and its model alone', async (t) => {
        const { group, rigs } = await four(t, { defaults: {}, settings: { api_keys_file: keysFile(t) }, upstreams: Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { models: ['m', 'other'] }])) });
        const asked = (owner, model, i) => place(group, `${owner} ${model} ${i} ${filler(2000, i)}`, { model, prompt_cache_key: 'the same', headers: bearer(owner) });
        const seen = {};
        for (let i = 0; i < 12; i++) {
            for (const [owner, model] of [['one', 'm'], ['two', 'm'], ['one', 'other']])
                (seen[`${owner} ${model}`] ??= new Set()).add(await asked(owner, model, 100 * i + owner.length + model.length));
        }
        for (const [who, places] of Object.entries(seen))
            assert.equal(places.size, 1, who);
        assert.equal(rigs.rounds.length, 36);
        assert.ok(new Set(Object.values(seen).flatMap((places) => [...places])).size > 1, 'not all of them are one session');
    });

    for (const shared of [true, false]) {
        test(`affinity_shared ${shared}: equal beginnings of two owners ${shared ? 'may meet' : 'do not count'}`, async (t) => {
            const { group } = await four(t, { settings: { api_keys_file: keysFile(t), affinity_shared: shared } });
            const instructions = filler(8000, 3);
            const at = await place(group, 'one', { instructions, headers: bearer('one') });
            const places = [];
            for (let i = 0; i < 3; i++)
                places.push(await place(group, `two ${i}`, { instructions, headers: bearer('two') }));
            assert.equal(places[0] === at, shared);
            assert.equal(new Set(places).size, 1);
        });
    }

    for (const [name, min] of [['affinity_min', '0.9'], ['affinity_min', '0.1']]) {
        test(`${name} ${min}: how much of a request has to be known`, async (t) => {
            const { group } = await four(t, { settings: { affinity_min: min } });
            const instructions = filler(4000, 5);
            const at = await place(group, filler(4000, 6), { instructions });
            const places = [];
            for (let i = 0; i < 3; i++)
                places.push(await place(group, filler(4000, 10 + i), { instructions }));
            assert.equal(places.every((other) => other === at), min === '0.1', `${at}, then ${places}`);
        });
    }

    for (const [form, asItems] of [
        ['its items', ({ output }) => output],
        ['a message', (response) => [{ role: 'assistant', content: said(response) }]],
    ]) {
        for (const stream of [false, true]) {
            test(`an answer that is longer than all before it is known where it was given, sent again as ${form}${stream ? ', streamed' : ''}`, async (t) => {
                const { group, rigs } = await four(t);
                rigs.list.forEach((rig) => rig.usually(answering(4000)));
                const question = { role: 'user', content: 'Write me a long story.' };
                const first = await turnOf(group.open([question], { stream }));
                const at = sayer(first.response);
                assert.ok(said(first.response).length > 2000);
                await group.rest();
                const next = [question, ...asItems(first.response), { role: 'user', content: 'And then?' }];
                for (let i = 0; i < 3; i++) {
                    assert.equal(await place(group, next), at);
                    await group.rest();
                }
                assert.equal(await group.metric('routing', { choice: 'prefix' }), 3);
                assert.equal(rigs[at].rounds.length, 4);
            });
        }
    }

    test('what is busy is passed over, when another has less to do, and the talk stays at its new place', async (t) => {
        const { group, rigs } = await four(t);
        const [one] = conversations({ n: 1, turns: 6, ways: ['previous'], own: 600 });
        await turn(group, one, 0);
        const [at] = placesOf(rigs.list, one);
        let release;
        const gate = new Promise((done) => (release = done));
        rigs[at].behave(heldAfterFirst(gate), 8);
        const others = rigs.list.filter(({ name }) => name !== at);
        await Promise.all(others.map(({ name }) => group.act(name, 'drain')));
        const held = Array.from({ length: 8 }, (_, i) => group.open(`held ${i}`, { stream: true }));
        await until(() => rigs[at].running.size, (n) => n === 8);
        await Promise.all(others.map(({ name }) => group.act(name, 'resume')));
        await turn(group, one, 1);
        assert.notEqual(placesOf(rigs.list, one)[1], at);
        assert.equal(await group.metric('routing', { choice: 'overflow' }), 1);
        release();
        await Promise.all(held.map(({ done }) => done));
        for (let k = 2; k < 6; k++) {
            await group.rest();
            await turn(group, one, k);
        }
        assert.equal(new Set(placesOf(rigs.list, one).slice(1)).size, 1, `${placesOf(rigs.list, one)}`);
    });

    for (const [size, waits] of [[40_000, true], [2_000, false]]) {
        test(`a talk of ${size} characters ${waits ? 'waits for its upstream while that is full' : 'goes elsewhere at once'}`, async (t) => {
            const rigs = await startRigs(t, { a: { limit: 1 }, b: { limit: 1 } });
            const group = await startGroup(t, rigs, { defaults: { max_concurrency: 1 }, settings: { ...PATIENT, affinity_wait: '20s' } });
            const [one] = conversations({ n: 1, turns: 2, ways: ['previous'], own: size });
            await turn(group, one, 0);
            const [at] = placesOf(rigs.list, one);
            const other = at === 'a' ? 'b' : 'a';
            let release;
            rigs[at].behave(heldAfterFirst(new Promise((done) => (release = done))), 1);
            await group.act(other, 'drain');
            const held = group.open('held', { stream: true });
            await held.until('.delta');
            await group.act(other, 'resume');
            const next = turn(group, one, 1);
            if (waits)
                await group.counted('queue', {}, 1);
            else
                await next;
            release();
            await next;
            assert.equal(placesOf(rigs.list, one)[1], waits ? at : other);
            assert.equal((await turnOf(held, captures, 'held')).outcome, 'completed');
        });
    }

    test('no longer than affinity_wait', async (t) => {
        const rigs = await startRigs(t, { a: { limit: 1 }, b: { limit: 1 } });
        const group = await startGroup(t, rigs, { defaults: { max_concurrency: 1 }, settings: { ...PATIENT, affinity_wait: '300ms' } });
        const [one] = conversations({ n: 1, turns: 2, ways: ['previous'], own: 40_000 });
        await turn(group, one, 0);
        const [at] = placesOf(rigs.list, one);
        const other = at === 'a' ? 'b' : 'a';
        rigs[at].behave(heldAfterFirst(), 1);
        await group.act(other, 'drain');
        const held = group.open('held', { stream: true });
        await held.until('.delta');
        await group.act(other, 'resume');
        await turn(group, one, 1);
        assert.equal(placesOf(rigs.list, one)[1], other);
        held.destroy();
    });

    test('an upstream that went away has forgotten: its talks stay where they have gone', async (t) => {
        const { group, rigs } = await four(t, { settings: { eject_after: 1, eject_time: '300ms' } });
        const talks = conversations({ n: 12, turns: 6, ways: Object.keys(WAYS), own: 600 });
        for (const k of [0, 1]) {
            for (const one of talks)
                await quietTurn(group, one, k);
        }
        await rigs.a.kill();
        for (const k of [2, 3]) {
            for (const one of talks)
                await quietTurn(group, one, k);
        }
        await rigs.a.revive();
        await until(async () => (await group.ask(`${Math.random()}`), group.state('a')), (state) => state === 'up', 30_000);
        for (const k of [4, 5]) {
            for (const one of talks)
                await quietTurn(group, one, k);
        }
        for (const one of talks) {
            const [, second, third, fourth, fifth, sixth] = placesOf(rigs.list, one);
            assert.ok(third !== 'a' && third === fourth && fourth === fifth && fifth === sixth, placesOf(rigs.list, one).join());
            assert.ok(second === 'a' || second === third, 'nobody else has moved');
        }
    });

    test('session_header: an upstream that routes itself is told which talk it is', async (t) => {
        const { group, rigs } = await four(t, { upstreams: { a: { session_header: true } } });
        const talks = conversations({ n: 2, turns: 3, ways: ['previous'] });
        for (let k = 0; k < 3; k++) {
            for (const one of talks)
                await quietTurn(group, one, k);
        }
        const ids = talks.map(({ questions }) => questions.slice(1).map((question) => rigs.a.rounds.find((round) => round.question === question).headers['x-session-id']));
        for (const own of ids) {
            assert.equal(new Set(own).size, 1);
            assert.match(own[0], /^[0-9a-f]{16}$/);
        }
        assert.notEqual(ids[0][0], ids[1][0]);
    });

    test('without it, and for other policies, nobody is', async (t) => {
        const { group, rigs } = await four(t, { policies: { m: { policy: 'round_robin' } } });
        const [one] = conversations({ n: 1, turns: 4, ways: ['keyed'] });
        for (let k = 0; k < 4; k++)
            await quietTurn(group, one, k);
        assert.deepEqual(rigs.counts(), { a: 1, b: 1, c: 1, d: 1 });
        assert.ok(rigs.rounds.every(({ headers }) => headers['x-session-id'] === undefined));
    });
});

captures.judge(test);
