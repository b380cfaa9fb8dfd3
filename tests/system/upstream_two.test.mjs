/* upstream_two.test.mjs -- two gateways in front of the same three upstreams, with one PostgreSQL (OPERATIONS 4.5):
 * what each knows of them is its own, limits add up, and nothing breaks.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { conversations, placesOf, turn } from '../lib/conversations.mjs';
import { said, startGroup, turnOf } from '../lib/group.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { heldAfterFirst, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs */
const LIMIT = 4;
const SETTINGS = { eject_after: 3, eject_time: '300ms', queue_limit: 1000, queue_owner: 1000, conversation_lock: '5s' };

describe('two gateways, three upstreams', { skip: NO_POSTGRES, concurrency: false, timeout: patience(240_000) }, () => {
    const cleaning = [];
    const hooks = { after: (fn) => cleaning.unshift(fn) };
    let rigs, a, b;

    before(async () => {
        const server = await startPostgres();
        hooks.after(() => server.close());
        const store = await server.database();
        rigs = await startRigs(hooks, Object.fromEntries(['x', 'y', 'z'].map((name) => [name, { limit: 2 * LIMIT }])));
        const start = () => startGroup(hooks, rigs, { defaults: { max_concurrency: LIMIT }, settings: { ...SETTINGS, store }, workers: 2 });
        [a, b] = await Promise.all([start(), start()]);
    });
    beforeEach(() => rigs.reset());
    after(async () => {
        for (const clean of cleaning)
            await clean();
    });

    test('each keeps its own limit: together they have twice as much', async () => {
        let release;
        const gate = new Promise((done) => (release = done));
        rigs.list.forEach((rig) => rig.usually(heldAfterFirst(gate)));
        const all = [a, b].flatMap((group, g) => Array.from({ length: 20 }, (_, i) => group.open(`gateway ${g}, ${i}`, { stream: true })));
        await until(() => rigs.list.map(({ running }) => running.size).join(), (sizes) => sizes === '8,8,8');
        for (const group of [a, b]) {
            await group.counted('queue', {}, 20 - 3 * LIMIT);
            for (const { name } of rigs.list)
                assert.equal(await group.metric('inFlight', { upstream: name }), LIMIT);
        }
        release();
        for (const one of all)
            assert.equal((await turnOf(one, captures, 'limit')).outcome, 'completed');
    });

    test('chains and conversations go from one to the other and back, and find all that was said', async (t) => {
        const talks = conversations({ n: 24, turns: 6, ways: ['previous', 'conversation'], own: 300, name: 'both' });
        rigs.list.forEach((rig) => rig.usually(talk({ deltas: 4, pause: 1 })));
        await Promise.all(talks.map(async (one, i) => {
            for (let k = 0; k < 6; k++)
                await turn([a, b][(i + k) % 2], one, k);
        }));
        for (const one of talks) {
            const last = rigs.rounds.find(({ question }) => question === one.questions.at(-1));
            const wanted = one.questions.flatMap((question, k) => (k < 5 ? [question, one.answers[k]] : [question]));
            assert.deepEqual(last.body.messages.filter(({ role }) => role !== 'system' && role !== 'developer').map(({ content }) => content), wanted);
        }
        t.diagnostic(`rounds ${JSON.stringify(rigs.counts())}; ${placesOf(rigs.list, talks[0])}`);
    });

    test('what one has found out about an upstream, the other has not', async () => {
        await rigs.x.kill();
        for (let i = 0; i < 30 && await a.metric('ejections', { upstream: 'x' }) === 0; i++)
            assert.equal((await a.ask(`finds out ${i}`)).status, 200);
        assert.ok(await a.metric('ejections', { upstream: 'x' }) >= 1);
        assert.equal(await b.metric('ejections', { upstream: 'x' }), 0);
        assert.equal(await b.state('x'), 'up');
        for (let i = 0; i < 30; i++)
            assert.equal((await b.ask(`finds out as well ${i}`)).status, 200);
        await rigs.x.revive();
        for (const group of [a, b]) {
            await until(async () => {
                await group.ask(`back ${Math.random()}`);
                return group.state('x');
            }, (state) => state === 'up', 30_000);
        }
    });

    test('a drain is the business of the one that was told', async () => {
        await a.act('y', 'drain');
        assert.deepEqual([await a.state('y'), await b.state('y')], ['drained', 'up']);
        const ask = (group, name) => Promise.all(Array.from({ length: 12 }, (_, i) => group.ask(`${name} ${i}`)));
        await ask(a, 'of a');
        assert.equal(rigs.y.rounds.length, 0);
        await ask(b, 'of b');
        assert.ok(rigs.y.rounds.length > 0);
        await a.act('y', 'resume');
    });

    test('under load, with one upstream killed and back, no turn fails that has shown nothing', async (t) => {
        rigs.list.forEach((rig) => rig.usually(talk({ deltas: 8, pause: 10 })));
        const results = [];
        const client = async (group, c) => {
            for (let i = 0; i < 20; i++)
                results.push(await turnOf(group.open(`client ${c}, turn ${i}`, { stream: true }), i === 0 ? captures : undefined, 'load'));
        };
        const clients = Promise.all(Array.from({ length: 20 }, (_, c) => client([a, b][c % 2], c)));
        await until(() => results.length >= 60, Boolean, 60_000);
        await rigs.z.kill();
        await until(() => results.length >= 200, Boolean, 60_000);
        await rigs.z.revive();
        await clients;
        const ill = results.filter(({ outcome }) => outcome !== 'completed');
        t.diagnostic(`${ill.length} of ${results.length} failed behind their first delta`);
        assert.deepEqual(ill.filter(({ hasDelta }) => !hasDelta).map(({ outcome, code, got }) => [outcome, code, got.text.slice(-300)]), []);
        for (const group of [a, b])
            await group.rest();
    });

    test('an answer that one has given is shown by the other, whoever has said it', async () => {
        const { id, output } = (await a.ask('kept')).json;
        const next = (await b.ask('goes on', { previous_response_id: id })).json;
        assert.deepEqual(rigs.rounds.at(-1).body.messages.map(({ content }) => content), ['kept', said({ output }), 'goes on']);
        assert.equal(next.previous_response_id, id);
    });
});

captures.judge(test);
