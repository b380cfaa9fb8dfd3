/* upstream_states.test.mjs -- upstreams that are well or not (OPERATIONS 4.6): who is left alone and comes back, who is
 * waited for, and what operators do with them (OPERATIONS 6.4).
 *
 * Most tests have two upstreams in the order of the file: `a` has the trouble, `b` has none.
 */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { IN_ORDER, flags, sayer, startGroup, startOne, startTwo, turnOf } from '../lib/group.mjs';
import { patience } from '../lib/patience.mjs';
import { FAULTS } from '../lib/upstream_faults.mjs';
import { heldAfterFirst, pause, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs: keys, and members of OPERATIONS 4.1 */
const SOON = { eject_time: '300ms', retry_max_wait: '3s' };
const STALL = { first_byte_timeout: `${patience(300)}ms`, idle_timeout: `${patience(300)}ms` };

/* ---- loading */

describe('a model that is being loaded', { concurrency: 4 }, () => {
    for (const stream of [false, true]) {
        test(`${stream ? 'streams' : 'requests'} wait until one of them has it`, async (t) => {
            const { group, rigs, a } = await startTwo(t, { settings: { heartbeat_interval: '100ms' } });
            rigs.list.forEach((rig) => rig.startLoading());
            const all = Array.from({ length: 12 }, (_, i) => group.open(`${i}`, { stream }));
            await group.become('a', 'loading');
            await group.become('b', 'loading');
            a.recover();
            for (const one of all) {
                const { outcome, response, got } = await turnOf(one, captures, 'loaded');
                assert.equal(outcome, 'completed', got.text);
                assert.equal(sayer(response), 'a');
            }
            await group.become('a', 'up');
            assert.equal(await group.state('b'), 'loading');
        });
    }

    test('is no failure: nobody is ejected for it', async (t) => {
        const { group, a } = await startTwo(t, { settings: { eject_after: 2 } });
        a.startLoading();
        for (let i = 0; i < 6; i++)
            assert.equal(sayer((await group.ask(`${i}`)).json), 'b');
        assert.equal(await group.metric('ejections'), 0);
        assert.equal(await group.state('a'), 'loading');
    });

    test('is waited for no longer than loading_wait', async (t) => {
        const { group, a } = await startOne(t, { settings: { loading_wait: '1500ms' } });
        a.startLoading();
        checkError(await group.ask('Hi'), 503, 'server_is_overloaded');
        assert.ok(a.rounds.length + a.checks.length >= 2, 'it was asked again');
        const { outcome, code } = await turnOf(group.open('Hi again', { stream: true }), captures, 'loads on');
        assert.deepEqual([outcome, code], ['failed', 'server_error']);
    });

    for (const stream of [false, true]) {
        test(`with a single --upstream as well${stream ? ', streamed' : ''}`, async (t) => {
            const rigs = await startRigs(t, { a: { kind: 'llama.cpp' } });
            const daemon = await startDaemon({ upstream: rigs.a.url, args: ['--model', 'm', '--early-error-window', '0s'] });
            t.after(() => daemon.stop());
            rigs.a.startLoading();
            const all = Array.from({ length: 5 }, (_, i) => open(daemon, { input: `${i}`, stream }));
            await rigs.a.round();
            await pause(1200); /* it is asked every second: once more at least */
            rigs.a.recover();
            for (const one of all)
                assert.equal((await turnOf(one, captures, 'single')).outcome, 'completed');
        });
    }

    test('with a single --upstream, no longer than loading_wait', async (t) => {
        const rigs = await startRigs(t, { a: {} });
        const daemon = await startDaemon({ upstream: rigs.a.url, args: ['--model', 'm', ...flags({ loading_wait: '1500ms' })] });
        t.after(() => daemon.stop());
        rigs.a.startLoading();
        checkError(await ask(daemon, { input: 'Hi' }), 503, 'server_is_overloaded');
        rigs.a.recover().behave(FAULTS.busy());
        const { length } = rigs.a.rounds;
        checkError(await ask(daemon, { input: 'Hi' }), 503, 'server_is_overloaded');
        assert.equal(rigs.a.rounds.length, length + 1, 'other reasons of a 503 are not waited for');
    });

    test('a client that leaves while it waits is gone', async (t) => {
        const { group, a } = await startOne(t);
        a.startLoading();
        const turn = group.open('Hi', { stream: true });
        await a.round();
        turn.destroy();
        await group.rest();
        a.recover();
        assert.equal((await group.ask('next')).status, 200);
        assert.equal(a.questions.at(-1), 'next');
    });
});

/* ---- states */

describe('who fails in a row', { concurrency: 4 }, () => {
    test('is left alone, asked by one after a while, and is back after two successes', async (t) => {
        const { group, a, b } = await startTwo(t, { settings: { ...SOON, eject_after: 3 } });
        await a.kill();
        for (let i = 0; i < 3; i++)
            assert.equal((await group.ask(`fails ${i}`)).status, 200);
        await group.counted('ejections', { upstream: 'a' }, 1);
        const { state } = (await group.upstreams()).a;
        assert.ok(['ejected', 'half_open'].includes(state), state);
        await a.revive();
        a.reset();
        await until(async () => sayer((await group.ask(`tries ${a.rounds.length} ${b.rounds.length}`)).json), (rig) => rig === 'a', 20_000);
        await until(async () => {
            await group.ask(`again ${a.rounds.length} ${b.rounds.length}`);
            return group.state('a');
        }, (now) => now === 'up', 20_000);
        assert.ok(a.rounds.length >= 2, 'two successes');
        assert.equal(await group.metric('state', { upstream: 'a', state: 'up' }), 1);
        assert.equal(await group.metric('state', { upstream: 'a' }), 1, 'it has one state');
    });

    for (const [name, fault, counts] of [['502', FAULTS.badGateway, true], ['503', FAULTS.busy, true], ['504', FAULTS.gatewayTimeout, true], ['a reset before the head', FAULTS.reset, true], ['no byte in time', FAULTS.silent, true],
        ['a stream that breaks off', FAULTS.brokenAfterText, true], ['429', FAULTS.overloaded, false], ['500', FAULTS.failed, false], ['501', FAULTS.notImplemented, false], ['400', FAULTS.badRequest, false], ['404', FAULTS.modelMissing, false]]) {
        test(`${name} ${counts ? 'counts' : 'does not count'}`, async (t) => {
            const { group, a } = await startTwo(t, { settings: { ...STALL, eject_after: 3, eject_time: '60s' } });
            a.behave(fault());
            for (let i = 0; i < 5; i++)
                await group.ask(`${i}`, { stream: i % 2 === 0 });
            await group.counted('ejections', { upstream: 'a' }, counts ? 1 : 0);
            assert.equal(await group.state('a'), counts ? 'ejected' : 'up');
        });
    }

    test('a success in between begins the row anew', async (t) => {
        const { group, a } = await startTwo(t, { settings: { eject_after: 3, eject_time: '60s' } });
        for (let i = 0; i < 5; i++) {
            a.behave(FAULTS.badGateway(), 2).behave(talk(), 1);
            for (let k = 0; k < 3; k++) {
                await group.rest(); /* a success counts with its last byte */
                assert.equal((await group.ask(`${i} ${k}`)).status, 200);
            }
        }
        assert.equal(await group.metric('ejections'), 0);
    });

    test('a client that leaves is no failure', async (t) => {
        const { group, a } = await startTwo(t, { settings: { eject_after: 2, eject_time: '60s' } });
        a.usually(heldAfterFirst());
        for (let i = 0; i < 5; i++) {
            const turn = group.open(`${i}`, { stream: true });
            await turn.until('.delta');
            turn.destroy();
        }
        await group.rest();
        assert.equal(await group.state('a'), 'up');
        assert.equal(await group.metric('ejections'), 0);
    });

    test('half open, one attempt at a time is made', async (t) => {
        const { group, a, b } = await startTwo(t, { settings: { ...SOON, eject_after: 1 } });
        a.behave(FAULTS.badGateway(), 1);
        assert.equal((await group.ask('fails')).status, 200);
        await group.counted('ejections', { upstream: 'a' }, 1);
        let release;
        a.usually(heldAfterFirst(new Promise((done) => (release = done))));
        const turns = [];
        await until(() => {
            turns.push(group.open(`tries ${turns.length}`, { stream: true }));
            return a.rounds.length;
        }, (n) => n === 2, 20_000);
        await Promise.all(turns.map((one) => one.until('.delta')));
        const others = await Promise.all(Array.from({ length: 20 }, (_, i) => group.ask(`meanwhile ${i}`)));
        assert.ok(others.every(({ json }) => sayer(json) === 'b'));
        assert.equal(a.running.most, 1);
        release();
        for (const one of turns)
            assert.equal((await turnOf(one, captures, 'half open')).outcome, 'completed');
        assert.ok(b.rounds.length >= 20);
    });

    test('it fails again half open: it is left alone again', async (t) => {
        const { group, a } = await startTwo(t, { settings: { ...SOON, eject_after: 1 } });
        a.behave(FAULTS.badGateway());
        await until(async () => {
            assert.equal((await group.ask(`${Math.random()}`)).status, 200);
            return group.metric('ejections', { upstream: 'a' });
        }, (n) => n >= 3, 30_000);
        assert.ok(a.rounds.length <= 6, `${a.rounds.length} rounds for three ejections`);
    });

    test('the last one of a group is never left alone', async (t) => {
        const { group, a } = await startOne(t, { settings: { eject_after: 2, eject_time: '60s', retry_attempts: 1 } });
        a.behave(FAULTS.badGateway());
        for (let i = 0; i < 6; i++)
            checkError(await group.ask(`${i}`), 502, 'upstream_error');
        assert.equal(a.rounds.length, 6);
        a.recover();
        assert.equal((await group.ask('Hi')).status, 200);
        assert.equal(await group.metric('ejections'), 0);
    });

    test('of two, the last one stays', async (t) => {
        const { group, rigs } = await startTwo(t, { settings: { eject_after: 2, eject_time: '60s' } });
        rigs.list.forEach((rig) => rig.behave(FAULTS.badGateway()));
        for (let i = 0; i < 8; i++)
            await group.ask(`${i}`);
        assert.equal(await group.metric('ejections'), 1);
        rigs.list.forEach((rig) => rig.recover());
        assert.equal((await group.ask('Hi')).status, 200);
    });
});

describe('checks', { concurrency: 4 }, () => {
    test('three that fail take an upstream out, two that do not bring it back; meanwhile it is checked, not tried', async (t) => {
        const { group, a, b } = await startTwo(t);
        await a.kill();
        const states = [];
        for (let i = 0; i < 3; i++) {
            await group.act('a', 'check');
            await group.counted('checks', { upstream: 'a', result: 'fail' }, (n) => n >= i + 1);
            states.push(await group.state('a'));
        }
        assert.equal(states[2], 'down');
        await a.revive();
        for (let i = 0; i < 5; i++)
            assert.equal(sayer((await group.ask(`${i}`)).json), 'b');
        assert.deepEqual([a.rounds.length, b.rounds.length], [0, 5]);
        await group.check('a', 'up');
        assert.ok(a.checks.length >= 2);
        assert.equal(sayer((await group.ask('Hi')).json), 'a');
    });

    for (const [kind, paths] of [['llama.cpp', ['/health']], ['vllm', ['/health']], ['plain', ['/health', '/v1/models']]]) {
        test(`a ${kind} server is asked for ${paths.join(', then ')}`, async (t) => {
            const rigs = await startRigs(t, { a: { kind }, b: { kind } });
            const group = await startGroup(t, rigs);
            assert.equal((await group.ask('Hi')).status, 200);
            rigs.a.checks.length = 0;
            const checks = await group.metric('checks', { upstream: 'a', result: 'ok' });
            assert.equal((await group.act('a', 'check')).status, 204);
            await group.counted('checks', { upstream: 'a', result: 'ok' }, (n) => n > checks);
            for (const path of paths)
                assert.ok(rigs.a.checks.includes(path), `${path} of ${rigs.a.checks}`);
            assert.equal(await group.state('a'), 'up');
        });
    }

    test('health off: nobody asks', async (t) => {
        const { group, a } = await startTwo(t, { upstreams: { a: { health: 'off' }, b: {} } });
        for (const name of ['a', 'b'])
            assert.equal((await group.act(name, 'check')).status, 204);
        await group.counted('checks', { upstream: 'b', result: 'ok' }, (n) => n > 0);
        assert.ok(!a.checks.includes('/health'), a.checks.join());
    });

    test('health PATH: that one', async (t) => {
        const { group, a } = await startTwo(t, { upstreams: { a: { health: '/healthz' }, b: {} } });
        await group.act('a', 'check');
        await until(() => a.checks.includes('/healthz'));
    });

    test('checks change no load and no share', async (t) => {
        const { group, a } = await startTwo(t, { upstreams: { a: { max_concurrency: 1 }, b: {} } });
        a.usually(heldAfterFirst());
        const held = group.open('held', { stream: true });
        await held.until('.delta');
        for (let i = 0; i < 5; i++) {
            await group.act('a', 'check');
            assert.equal(sayer((await group.ask(`${i}`)).json), 'b', 'a is full');
        }
        assert.equal(await group.metric('inFlight', { upstream: 'a' }), 1);
        held.destroy();
    });
});

describe('operators', { concurrency: 4 }, () => {
    test('drain: what runs goes on, nothing new comes; resume: it does', async (t) => {
        const { group, a, b } = await startTwo(t);
        let release;
        a.behave(heldAfterFirst(new Promise((done) => (release = done))), 1);
        const held = group.open('held', { stream: true });
        await held.until('.delta');
        assert.equal((await group.act('a', 'drain')).status, 204);
        assert.equal(await group.state('a'), 'drained');
        for (let i = 0; i < 4; i++)
            assert.equal(sayer((await group.ask(`${i}`)).json), 'b');
        release();
        assert.equal((await turnOf(held, captures, 'drained')).outcome, 'completed');
        group.change({ upstreams: { a: { weight: 2 }, b: {} }, policies: IN_ORDER });
        assert.equal((await group.reload()).status, 200);
        assert.equal(await group.state('a'), 'drained', 'a file that names it again does not bring it back');
        assert.equal((await group.act('a', 'resume')).status, 204);
        assert.equal(await group.state('a'), 'up');
        assert.equal(sayer((await group.ask('Hi')).json), 'a');
        assert.deepEqual([a.rounds.length, b.rounds.length], [2, 4]);
    });

    test('all drained: 502, until one is resumed', async (t) => {
        const { group } = await startTwo(t);
        for (const name of ['a', 'b'])
            await group.act(name, 'drain');
        checkError(await group.ask('Hi'), 502, 'upstream_unavailable');
        await group.act('b', 'resume');
        assert.equal(sayer((await group.ask('Hi')).json), 'b');
    });

    test('operators see by name what each serves and what it was recognised as', async (t) => {
        const rigs = await startRigs(t, { a: { models: ['one', 'two'] }, b: {} });
        const group = await startGroup(t, rigs, { upstreams: { a: { models: ['auto'] }, b: { models: [{ name: 'fast', model: 'm' }, 'big-*'] } } });
        await until(() => group.upstreams(), (all) => all.a.models.length > 0, 30_000);
        const { a, b } = await group.upstreams();
        assert.deepEqual([a.models, b.models], [['one', 'two'], ['fast', 'big-*']]);
        for (const name of ['a', 'b'])
            await group.daemon.logged(new RegExp(`upstream (not )?recognised"? upstream=${name} kind=`));
    });

    test('a name or an act that is none: 404; other methods: 405', async (t) => {
        const { group } = await startTwo(t);
        checkError(await group.act('nobody', 'drain'), 404, 'not_found');
        checkError(await group.act('a', 'explode'), 404, 'not_found');
        checkError(await ask(group.admin, undefined, { method: 'GET', path: '/admin/upstreams/a/drain' }), 405, 'method_not_allowed');
        assert.equal((await ask(group.daemon, undefined, { path: '/admin/upstreams/a/drain' })).status, 404, 'not for clients');
        assert.equal(await group.state('a'), 'up');
    });
});

captures.judge(test);
