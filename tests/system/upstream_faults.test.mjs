/* upstream_faults.test.mjs -- rounds that fail (OPERATIONS 4.7): what is tried again and where, what clients see of it,
 * one failure at a time and all of them under load.
 *
 * Most tests have two upstreams in the order of the file: `a` fails, `b` does not.
 */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { flags, said, sayer, startGroup, startOne, startTwo, turnOf } from '../lib/group.mjs';
import { patience } from '../lib/patience.mjs';
import { CLOSE, frames, startUpstream, stream, usageChunk } from '../lib/upstream.mjs';
import { FAULTS } from '../lib/upstream_faults.mjs';
import { heldAfterFirst, startRigs, talk, until } from '../lib/upstreams.mjs';

const captures = new Captures();

/* ---- what these tests go by beside group.mjs: keys, and members of OPERATIONS 4.1 */
const SOON = { eject_time: '300ms', retry_max_wait: '3s' };
const STALL = { first_byte_timeout: `${patience(300)}ms`, idle_timeout: `${patience(300)}ms` };
const RETRY_ALL = 'connect,reset,429,502,503,504,model,500,timeout';

/* ---- the table of 4.7, row by row */

/* What is said; how often `a` and `b` are asked by then, [least, most]; the error that the client sees, if it does. A
 * connection that was a kept one is opened anew without being counted, so that what closes one may be said thrice; who
 * is known to load is not asked. */
const ONCE = [1, 1], NEVER = [0, 0], AT_MOST_ONCE = [0, 1], ONCE_OR_TWICE = [1, 2], UP_TO_THRICE = [1, 3];
/* A good head of the upstream begins the stream: what fails then is an event. */
const BEGUN = true;

const ROWS = {
    'reset before the head': [FAULTS.reset, UP_TO_THRICE, ONCE],
    'closed before the head': [FAULTS.closed, UP_TO_THRICE, ONCE],
    'broken behind the head': [FAULTS.brokenAfterHead, ONCE_OR_TWICE, ONCE],
    'reset behind the head': [FAULTS.resetAfterHead, ONCE_OR_TWICE, ONCE],
    'broken before the first delta': [FAULTS.brokenAfterRole, ONCE_OR_TWICE, ONCE],
    'half a head': [FAULTS.halfHead, UP_TO_THRICE, ONCE],
    'no HTTP at all': [FAULTS.noHttp, UP_TO_THRICE, ONCE],
    'a web page': [FAULTS.page, ONCE_OR_TWICE, ONCE],
    'bytes that are no events': [FAULTS.noEvents, ONCE_OR_TWICE, ONCE],
    '429': [FAULTS.overloaded, ONCE, ONCE],
    '429 with Retry-After: another is asked at once': [() => FAULTS.rateLimited(2), ONCE, ONCE],
    '502': [FAULTS.badGateway, ONCE, ONCE],
    '503': [FAULTS.busy, ONCE, ONCE],
    '503 of a proxy': [FAULTS.unavailable, ONCE, ONCE],
    '504': [FAULTS.gatewayTimeout, ONCE, ONCE],
    '503 while it loads': [FAULTS.loading, AT_MOST_ONCE, ONCE],
    '404 of vLLM without that model': [FAULTS.modelMissing, ONCE, ONCE],
    '404 of SGLang without that model': [FAULTS.modelMissingInError, ONCE, ONCE],
    '404 of Ollama without that model': [FAULTS.modelNotPulled, ONCE, ONCE],
    'head 200, then an error object: 429': [FAULTS.errorFirst429, ONCE, ONCE],
    'head 200, then an error object: 503': [FAULTS.errorFirst503, ONCE, ONCE],
    'head 200, then an error object that says no status': [FAULTS.errorFirstWithoutCode, ONCE_OR_TWICE, ONCE],
    '500': [FAULTS.failed, ONCE, NEVER, [502, 'upstream_error']],
    '501': [FAULTS.notImplemented, ONCE, NEVER, [502, 'upstream_error']],
    '400': [FAULTS.badRequest, ONCE, NEVER, [400]],
    '422': [FAULTS.unprocessable, ONCE, NEVER, [400]],
    'head 200, then an error object: 400': [FAULTS.errorFirst400, ONCE, NEVER, [400], BEGUN],
    'no byte in time': [FAULTS.silent, ONCE, NEVER, [504, 'upstream_timeout']],
    'silence behind the head': [FAULTS.silentAfterHead, ONCE, NEVER, [504], BEGUN],
    'silence before the first delta': [FAULTS.silentAfterRole, ONCE, NEVER, [504], BEGUN],
};

const within = (n, [least, most], who) => assert.ok(n >= least && n <= most, `${who} is asked ${n} times, not ${least} to ${most}`);

/* With the window for early errors open, a failure is an HTTP error; the stream of a turn that is tried elsewhere shows
 * nothing of it. */
async function checkRow(group, rigs, [fault, atA, atB, error, begun], { stream }) {
    rigs.a.behave(fault());
    const question = `${stream ? 'streamed' : 'whole'} ${Math.random()}`;
    const { outcome, response, got } = await turnOf(group.open(question, { stream }), captures, 'row');
    within(rigs.a.rounds.length, atA, 'a');
    within(rigs.b.rounds.length, atB, 'b');
    if (error === undefined) {
        assert.equal(outcome, 'completed', got.text);
        assert.deepEqual([sayer(response), response.output.length], ['b', 1]);
    } else if (begun && stream) {
        assert.deepEqual([got.status, outcome], [200, 'failed']);
    } else {
        captures.keep('row.json', got.bytes, '--kind', 'error');
        checkError(got, ...error);
    }
    rigs.reset();
}

describe('what is tried again, and where', { concurrency: 4 }, () => {
    for (const [name, row] of Object.entries(ROWS)) {
        test(name, async (t) => {
            const { group, rigs } = await startTwo(t, { settings: { ...STALL, early_error_window: '20s' } });
            for (const stream of [false, true, false])
                await checkRow(group, rigs, row, { stream });
            const retries = await group.metric('retries');
            assert.ok(row[3] === undefined ? retries >= (row[1] === AT_MOST_ONCE ? 1 : 3) : retries === 0, `${retries} retries are counted`);
        });
    }

    test('no connection: another is asked at once', async (t) => {
        const { group, a, b } = await startTwo(t);
        await a.kill();
        for (const stream of [false, true])
            assert.equal((await turnOf(group.open(`Hi ${stream}`, { stream }), captures)).outcome, 'completed');
        assert.equal(b.rounds.length, 2);
        assert.ok(await group.metric('attempts', { upstream: 'a', result: 'connect' }) >= 2);
    });

    test('a name that cannot be resolved: another is asked', async (t) => {
        const { group, b } = await startTwo(t, { upstreams: { a: { url: 'http://nowhere.invalid/v1' }, b: {} } });
        assert.equal((await group.ask('Hi')).status, 200);
        assert.equal(b.rounds.length, 1);
        assert.ok(await group.metric('attempts', { upstream: 'a', result: 'dns' }) >= 1);
    });

    test('a TLS handshake with what speaks none: another is asked', async (t) => {
        const plain = await startUpstream();
        t.after(() => plain.close());
        const { group, b } = await startTwo(t, { upstreams: { a: { url: plain.url.replace('http:', 'https:') }, b: {} } });
        assert.equal((await group.ask('Hi')).status, 200);
        assert.equal(b.rounds.length, 1);
        assert.ok(await group.metric('attempts', { upstream: 'a', result: 'tls' }) >= 1);
    });

    test('a connection that was kept and is closed at the other end is opened anew, and that does not count', async (t) => {
        const { group, a } = await startOne(t, { settings: { retry_attempts: 1 }, workers: 1 });
        assert.equal((await group.ask('first')).status, 200);
        for (let i = 0; i < 5; i++) {
            a.behave(FAULTS.closed(), 1);
            assert.equal((await group.ask(`again ${i}`)).status, 200, 'the closed one was a kept one');
        }
        assert.equal(await group.metric('retries'), 0);
    });
});

describe('what is tried again at the same one', { concurrency: 4 }, () => {
    for (const [name, fault] of [['429 with Retry-After', () => FAULTS.rateLimited(1)], ['502', FAULTS.badGateway], ['503', FAULTS.busy], ['503 with Retry-After', () => FAULTS.busy(1)], ['504', FAULTS.gatewayTimeout],
        ['a reset before the head', FAULTS.reset], ['a break before the first delta', FAULTS.brokenAfterRole]]) {
        test(`${name}, when there is no other`, async (t) => {
            const { group, a } = await startOne(t, { settings: { retry_attempts: 3 } });
            assert.equal((await group.ask('so that the connection is a kept one')).status, 200);
            a.behave(fault(), 1);
            assert.equal((await group.ask('Hi')).status, 200);
            assert.ok(a.rounds.length >= 3, `${a.rounds.length}`);
        });
    }

    for (const [name, fault, status] of [['429 that does not say when', () => FAULTS.overloaded(), 429], ['429 that says too late', () => FAULTS.rateLimited(60), 429], ['503 that says too late', () => FAULTS.busy(60), 503],
        ['404 of a missing model', FAULTS.modelMissing, 404], ['500', FAULTS.failed, 502], ['400', FAULTS.badRequest, 400]]) {
        test(`never: ${name}`, async (t) => {
            const { group, a } = await startOne(t, { settings: { retry_attempts: 5 } });
            a.behave(fault());
            const got = await group.ask('Hi');
            assert.deepEqual([got.status, a.rounds.length], [status, 1], got.text);
        });
    }

    test('never more than retry_attempts in all, wherever', async (t) => {
        for (const [attempts, fault] of [[1, FAULTS.busy], [2, FAULTS.busy], [3, FAULTS.busy], [3, FAULTS.reset], [5, FAULTS.badGateway]]) {
            const { group, rigs } = await startTwo(t, { settings: { retry_attempts: attempts } });
            rigs.list.forEach((rig) => rig.behave(fault()));
            const got = await group.ask(`${attempts}`);
            assert.ok(got.status === 502 || got.status === 503, got.text);
            const { length } = rigs.rounds;
            assert.ok(length <= attempts && length >= Math.min(attempts, 2), `${length} of ${attempts}`);
        }
    });

    test('a single upstream is asked once, unless retry_attempts says more', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.always({ status: 503, headers: {}, pieces: ['no'] });
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm'] });
        t.after(() => daemon.stop());
        checkError(await ask(daemon, { input: 'Hi' }), 503, 'server_is_overloaded');
        assert.equal(up.requests.length, 1);
        const more = await startDaemon({ upstream: up.url, args: ['--model', 'm', ...flags({ retry_attempts: 3 })] });
        t.after(() => more.stop());
        up.reset();
        up.next({ status: 503, headers: {}, pieces: ['no'] });
        assert.equal((await ask(more, { input: 'Hi' })).status, 200);
        assert.equal(up.requests.length, 2);
    });
});

describe('retry_on', { concurrency: 4 }, () => {
    const FAULTS_OF = { 429: FAULTS.overloaded, 502: FAULTS.badGateway, 503: FAULTS.busy, 504: FAULTS.gatewayTimeout, reset: FAULTS.reset, model: FAULTS.modelMissing, 500: FAULTS.failed, timeout: FAULTS.silent };
    const words = Object.keys(FAULTS_OF);
    for (const word of words) {
        test(`${word}: only with it in the list`, async (t) => {
            for (const isIn of [true, false]) {
                const list = isIn ? word : ['connect', ...words.filter((other) => other !== word)].join();
                const { group, a, b } = await startTwo(t, { settings: { ...STALL, retry_on: list } });
                a.behave(FAULTS_OF[word]());
                assert.equal((await group.ask('Hi')).status === 200, isIn, list);
                assert.equal(b.rounds.length, isIn ? 1 : 0, list);
            }
        });
    }

    test('an upstream may have its own', async (t) => {
        const { group, a, b } = await startTwo(t, { upstreams: { a: { retry_on: ['500'] }, b: {} } });
        a.behave(FAULTS.failed(), 1).behave(FAULTS.busy(), 1);
        assert.equal((await group.ask('one')).status, 200);
        checkError(await group.ask('two'), 503, 'server_is_overloaded');
        assert.equal(b.rounds.length, 1);
    });
});

describe('once something was shown', { concurrency: 4 }, () => {
    for (const [name, fault] of [['a break', FAULTS.brokenAfterText], ['silence', FAULTS.silentAfterText]]) {
        test(`${name} ends the turn, and nobody else is asked`, async (t) => {
            const { group, a, b } = await startTwo(t, { settings: { ...STALL, retry_on: RETRY_ALL } });
            a.behave(fault());
            const { outcome, code, hasDelta, response } = await turnOf(group.open('Hi', { stream: true }), captures, 'shown');
            assert.deepEqual([outcome, code, hasDelta, said(response)], ['failed', 'server_error', true, 'Some words']);
            assert.deepEqual([a.rounds.length, b.rounds.length], [1, 0]);
            assert.equal(await group.metric('retries'), 0);
        });
    }

    test('the beginning of the stream and its heartbeats are not shown yet', async (t) => {
        const { group, a, rigs } = await startTwo(t, { settings: { heartbeat_interval: '50ms' } });
        a.behave(FAULTS.silent(), 1);
        const turn = group.open('Hi', { stream: true });
        await turn.until('response.in_progress');
        await turn.until(() => (turn.text.match(/^: /gm) ?? []).length >= 2);
        await a.kill();
        const { outcome, response, got } = await turnOf(turn, captures, 'begun');
        assert.deepEqual([outcome, sayer(response)], ['completed', 'b'], got.text);
        assert.equal(rigs.b.rounds.length, 1);
    });

    test('a failure behind the beginning of the stream is an event, the last one that there was', async (t) => {
        const { group, rigs } = await startTwo(t);
        rigs.a.behave(FAULTS.busy());
        rigs.b.behave(FAULTS.overloaded());
        const { outcome, code } = await turnOf(group.open('Hi', { stream: true }), captures, 'both');
        assert.deepEqual([outcome, code], ['failed', 'rate_limit_exceeded']);
    });

    test('a client that leaves ends it', async (t) => {
        const { group, a, b } = await startTwo(t, { settings: STALL });
        a.behave(FAULTS.silent());
        const turn = group.open('Hi', { stream: true });
        await a.round();
        turn.destroy();
        await until(() => a.running.size, (n) => n === 0);
        await group.rest();
        assert.deepEqual([a.rounds.length, b.rounds.length], [1, 0]);
    });
});

describe('what the client sees in the end', { concurrency: 4 }, () => {
    test('Retry-After is the smallest, when all say 429 or 503', async (t) => {
        const { group, a, b } = await startTwo(t);
        a.behave(FAULTS.rateLimited(70));
        b.behave(FAULTS.busy(40));
        const got = await group.ask('Hi');
        captures.keep('all busy.json', got.bytes, '--kind', 'error');
        checkError(got, 503, 'server_is_overloaded');
        assert.equal(got.headers['retry-after'], '40');
        a.recover().behave(FAULTS.busy(30));
        b.recover().behave(FAULTS.rateLimited(90));
        const other = await group.ask('Hi again');
        checkError(other, 429, 'rate_limit_exceeded');
        assert.equal(other.headers['retry-after'], '30');
        assert.doesNotMatch(other.json.error.message, /90s/);
        a.recover().behave(FAULTS.busy(30));
        b.recover().behave(FAULTS.rateLimited(90));
        const relayed = await ask(group.daemon, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions' });
        assert.deepEqual([relayed.status, relayed.headers['retry-after']], [429, '30']);
    });

    test('all down: 502 at once, whatever may wait', async (t) => {
        const { group, rigs } = await startTwo(t, { settings: { queue_timeout: '60s' } });
        await Promise.all(rigs.list.map((rig) => rig.kill()));
        for (const { name } of rigs.list)
            await group.check(name, 'down');
        for (const stream of [false, true]) {
            const got = await group.ask('Hi', { stream });
            if (!stream || got.status !== 200)
                checkError(got, 502, 'upstream_unavailable');
            assert.equal(await group.metric('queue'), 0);
        }
        checkError(await ask(group.daemon, { model: 'm', messages: [] }, { path: '/v1/chat/completions' }), 502, 'upstream_unavailable');
        assert.ok(await group.metric('rejected', { reason: 'no_upstream' }) >= 1);
        await Promise.all(rigs.list.map((rig) => rig.revive()));
        for (const { name } of rigs.list)
            await group.check(name, 'up');
        assert.equal((await group.ask('Hi')).status, 200);
    });

    test('tokens of what was given up are counted, when they were told', async (t) => {
        const { group, a } = await startTwo(t);
        a.behave(stream([...frames(usageChunk(1000, 0)), 20, CLOSE]));
        assert.equal((await group.ask('Hi')).status, 200);
        assert.ok(await group.metric('antiphon_tokens_total', { upstream: 'a', kind: 'input' }) >= 1000);
        assert.ok(await group.metric('antiphon_tokens_total', { upstream: 'b', kind: 'output' }) > 0);
    });
});

/* ---- relays */

describe('what is passed on', { concurrency: 4 }, () => {
    const chat = (group, question, more = {}) => open(group.daemon, { model: 'm', messages: [{ role: 'user', content: question }], stream: true, ...more }, { path: '/v1/chat/completions' });

    for (const [path, body] of [['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }], ['/v1/completions', { prompt: 'Hi' }], ['/v1/embeddings', { input: 'Hi' }]]) {
        test(`POST ${path} is tried elsewhere as a round is`, async (t) => {
            const { group, a, b } = await startTwo(t);
            a.behave(FAULTS.busy(), 1).behave(FAULTS.reset(), 1);
            for (let i = 0; i < 2; i++)
                assert.equal((await ask(group.daemon, { model: 'm', ...body }, { path })).status, 200);
            assert.equal(b.rounds.length + a.rounds.length, 4);
            await a.kill();
            assert.equal((await ask(group.daemon, { model: 'm', ...body }, { path })).status, 200);
        });
    }

    test('what is posted elsewhere goes to who has its model, and is not tried again', async (t) => {
        const { group, a, b } = await startTwo(t, { args: ['--relay', 'all'], upstreams: { a: { models: ['m'] }, b: { models: ['ranker'] } } });
        const rerank = (model) => ask(group.daemon, { model, query: 'q', documents: [] }, { path: '/v1/rerank' });
        assert.equal((await rerank('ranker')).status, 200);
        b.behave(FAULTS.busy(), 1);
        assert.equal((await rerank('ranker')).status, 503);
        checkError(await rerank('nobody'), 404, 'model_not_found', 'model');
        assert.deepEqual([a.rounds.length, b.rounds.length], [0, 2]);
    });

    test('what is posted without a model has a place at the first', async (t) => {
        const { group, a, b } = await startTwo(t, { args: ['--relay', 'all'], upstreams: { a: { max_concurrency: 1 }, b: {} } }, { a: { limit: 1 }, b: {} });
        const post = () => open(group.daemon, '--x\r\n', { path: '/v1/audio/transcriptions', headers: { 'content-type': 'multipart/form-data; boundary=x' } });
        let release;
        a.usually(heldAfterFirst(new Promise((done) => (release = done))));
        const first = post();
        await until(() => a.running.size, (n) => n === 1);
        const second = post();
        await group.counted('queue', {}, 1);
        assert.deepEqual([(await group.upstreams()).a.in_flight, a.rounds.length, b.rounds.length], [1, 1, 0]);
        assert.equal((await get(group.daemon, '/v1/files/x')).status, 404, 'what only reads does not wait');
        release();
        assert.deepEqual([(await first.done).status, (await second.done).status, a.rounds.length], [200, 200, 2]);
    });

    test('what only reads is asked of the next one when the first cannot be reached', async (t) => {
        const { group, a, b } = await startTwo(t, { args: ['--relay', 'all'] });
        const seen = (rig) => rig.checks.filter((path) => path.startsWith('/v1/files/')).length;
        const call = (method) => open(group.daemon, undefined, { method, path: '/v1/files/x' }).done;
        assert.equal((await call('GET')).status, 404);
        assert.deepEqual([seen(a), seen(b)], [1, 0], 'an answer is an answer');
        await a.kill();
        assert.equal((await call('GET')).status, 404);
        assert.equal((await call('HEAD')).status, 404);
        assert.equal(seen(b), 2);
        checkError(await call('DELETE'), 502, 'upstream_unavailable');
        await b.kill();
        checkError(await call('GET'), 502, 'upstream_unavailable');
        assert.equal(seen(b), 2);
    });

    test('who is silent is not taken for one that cannot be reached', async (t) => {
        const { group, a, b } = await startTwo(t, { args: ['--relay', 'all'], settings: STALL });
        a.behave(FAULTS.silent());
        checkError(await chat(group, 'Hi', { stream: false }).done, 504, 'upstream_timeout');
        assert.deepEqual([a.rounds.length, b.rounds.length], [1, 0]);
        a.health = 'silent';
        checkError(await get(group.daemon, '/v1/files/x'), 504, 'upstream_timeout');
        assert.ok(!b.checks.includes('/v1/files/x'));
    });

    test('what is posted elsewhere says as well that a model is being loaded', async (t) => {
        const { group, a } = await startTwo(t, { args: ['--relay', 'all'], settings: { eject_after: 2 } });
        a.behave(FAULTS.loading());
        for (let i = 0; i < 3; i++)
            assert.equal((await ask(group.daemon, '--x\r\n', { path: '/v1/audio/transcriptions', headers: { 'content-type': 'multipart/form-data; boundary=x' } })).status, 503);
        assert.equal(await group.state('a'), 'loading');
        assert.equal(await group.metric('ejections'), 0);
    });

    test('until a byte of the body was passed on', async (t) => {
        const { group, a, b } = await startTwo(t);
        a.behave(FAULTS.brokenAfterText());
        const call = chat(group, 'Hi');
        await call.until('Some words');
        const end = await call.done.then(() => 'whole', () => 'broken');
        assert.ok(end === 'broken' || call.text.includes('error'), call.text);
        assert.ok(!call.text.includes('[DONE]'));
        assert.deepEqual([a.rounds.length, b.rounds.length], [1, 0]);
    });

    test('an error of the last one arrives as it was said', async (t) => {
        const { group, rigs } = await startTwo(t);
        rigs.a.behave(FAULTS.busy());
        rigs.b.behave(FAULTS.rateLimited(50));
        const got = await chat(group, 'Hi', { stream: false }).done;
        assert.deepEqual([got.status, got.json.error.message, got.headers['retry-after']], [429, 'Rate limit reached for requests', '50']);
        rigs.reset();
        rigs.a.behave(FAULTS.badRequest());
        assert.deepEqual([(await chat(group, 'Hi').done).status, rigs.b.rounds.length], [400, 0]);
    });
});

/* ---- all at once */

const AT_ONCE = 300, LIMIT = 120, FAULTY = 10;

/* Each upstream in turn is what it should not be. It is so for FAULTY rounds, and the next is when these are over and
 * as many turns have passed as run at once, so that less than a fifth of what runs is tried again: the budget of retries
 * (4.7) is that, and what is above it is the client's to see. */
const forSome = (fault) => (rig) => rig.behave(fault(), FAULTY);
const TROUBLE = {
    killed: (rig) => rig.kill(),
    silent: forSome(FAULTS.silent),
    'silent behind the head': forSome(FAULTS.silentAfterHead),
    slow: forSome(() => talk({ deltas: 6, pause: 100, wait: 200 })),
    429: forSome(FAULTS.overloaded),
    '429 for a second': forSome(() => FAULTS.rateLimited(1)),
    503: forSome(FAULTS.busy),
    loading: forSome(FAULTS.loading),
    reset: forSome(FAULTS.reset),
    'a page': forSome(FAULTS.page),
    'half a head': forSome(FAULTS.halfHead),
    'no HTTP': forSome(FAULTS.noHttp),
    'an error first': forSome(FAULTS.errorFirst503),
    'a break before the first delta': forSome(FAULTS.brokenAfterRole),
    'a break behind it': forSome(FAULTS.brokenAfterText),
};

test(`${AT_ONCE} turns at once over three upstreams of which one is always ill: no turn fails that has shown nothing yet`, { timeout: patience(300_000) }, async (t) => {
    const rigs = await startRigs(t, Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { limit: LIMIT }])), { turns: true });
    const group = await startGroup(t, rigs, {
        workers: 3,
        defaults: { max_concurrency: LIMIT },
        settings: { ...SOON, eject_after: 3, first_byte_timeout: `${patience(1)}s`, idle_timeout: `${patience(1)}s`, retry_on: RETRY_ALL, queue_limit: 1000, queue_owner: 1000 },
    });
    /* Of different lengths, so that they do not all begin at the same moment. */
    const length = ({ question }) => Number(question.match(/\d+/));
    rigs.list.forEach((rig) => rig.usually((round, self) => talk({ deltas: 8 + length(round) % 9, pause: 20 + length(round) % 16 })(round, self)));
    const results = [];
    let asked = 0, isOver = false;

    async function client() {
        while (!isOver) {
            const i = asked++;
            results.push(await turnOf(group.open(`turn ${i}`, { stream: true }), i % 20 === 0 ? captures : undefined, 'under load'));
        }
    }
    async function trouble() {
        await until(() => rigs.list.reduce((sum, { running }) => sum + running.size, 0) >= 0.8 * AT_ONCE);
        for (const [i, [name, begin]] of Object.entries(TROUBLE).entries()) {
            const rig = rigs.list[i % 3];
            await begin(rig);
            const enough = results.length + AT_ONCE;
            await until(() => results.length >= enough, Boolean, 60_000);
            if (name === 'killed')
                await rig.revive();
            rig.recover();
            await until(() => rig.rounds.every((round) => round.isOver || !round.isOdd), Boolean, 60_000);
            t.diagnostic(`${rig.name}: ${name}, until ${results.length} turns were over; ${await group.metric('retries')} retries, ${await group.metric('denied')} denied`);
        }
    }
    const clients = Promise.all(Array.from({ length: AT_ONCE }, client));
    await trouble().finally(() => (isOver = true));
    await clients;

    const ill = results.filter(({ outcome }) => outcome !== 'completed');
    t.diagnostic(`${results.length - ill.length} completed, ${ill.filter(({ hasDelta }) => hasDelta).length} failed behind their first delta`);
    t.diagnostic(`${await group.metric('retries')} retries, ${await group.metric('denied')} denied, ${await group.metric('ejections')} ejections, at once ${rigs.list.map(({ running }) => running.most)}`);
    assert.deepEqual(ill.filter(({ hasDelta }) => !hasDelta).map(({ outcome, code, got }) => [outcome, code, (/"message":"[^"]*"/.exec(got.text) ?? [])[0], got.text.length]), []);
    await Promise.all(rigs.list.map(({ name }) => until(async () => {
        await group.ask(`${name} ${Math.random()}`);
        return group.state(name);
    }, (state) => state === 'up', 60_000)));
    await group.rest();
});

test('an upstream that is killed and comes back is ejected once and then up again, whoever asks meanwhile', async (t) => {
    const { group, a } = await startTwo(t, { policies: { m: { policy: 'round_robin' } }, settings: { ...SOON, eject_after: 3 }, workers: 4 });
    await a.kill();
    const meanwhile = await Promise.all(Array.from({ length: 10 }, async (_, i) => {
        const all = [];
        for (let k = 0; k < 6; k++)
            all.push(await turnOf(group.open(`${i} ${k}`, { stream: true }), captures, 'meanwhile'));
        return all;
    }));
    assert.deepEqual(meanwhile.flat().filter(({ outcome }) => outcome !== 'completed'), []);
    assert.ok(await group.metric('ejections', { upstream: 'a' }) >= 1);
    await a.revive();
    await until(async () => {
        await group.ask(`${Math.random()}`);
        return group.state('a');
    }, (state) => state === 'up', 30_000);
});

test('retries are a fifth of what runs, or three: what is above that is told so', async (t) => {
    const { group, a, b } = await startTwo(t);
    const asked = until(() => a.rounds.length, (n) => n === 30);
    const judged = asked.then(() => until(async () => await group.metric('denied', { reason: 'budget' }) + b.rounds.length, (n) => n === 30));
    a.usually(() => asked.then(() => FAULTS.busy()));
    b.usually(talk({ until: judged }));
    const all = await Promise.all(Array.from({ length: 30 }, (_, i) => group.ask(`${i}`)));
    const refused = all.filter(({ status }) => status === 503).length;
    t.diagnostic(`${refused} refused, ${b.rounds.length} tried again`);
    assert.equal(await group.metric('denied', { reason: 'budget' }), refused);
    assert.ok(b.running.most <= 6, `${b.running.most} at once of 30 that run`);
    assert.ok(b.rounds.length >= 3, `${b.rounds.length}`);
});

test('a turn that is tried again looks as one that was not', async (t) => {
    const { group, a } = await startTwo(t);
    a.usually(talk({ text: 'The same words.' }));
    group.rigs.b.usually(talk({ text: 'The same words.' }));
    const plain = await turnOf(group.open('Hi', { stream: true }), captures, 'plain');
    a.behave(FAULTS.errorFirst503(), 1);
    const again = await turnOf(group.open('Hi', { stream: true }), captures, 'again');
    const shape = ({ got }) => got.text.replace(/\b(resp|msg)_\w+/g, 'ID').replace(/_at":\d+/g, '_at":0').replace(/"obfuscation":"\w*"/g, '');
    assert.equal(shape(again), shape(plain));
});

captures.judge(test);
