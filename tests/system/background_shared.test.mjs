/* background_shared.test.mjs -- two gateways on one PostgreSQL share their background work: each runs what was given
 * to the other, cancels it, reads it, and takes over what the other leaves behind (CONTRACT 4.8). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { accepted, become, cancel, checkShown, ended, resume, tail } from '../lib/background.mjs';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkTail } from '../lib/check_resume.mjs';
import { ask, get } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { HANG, chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

const STARTED = stream([...frames(chunk({ content: 'one' }), chunk({ content: ' two' })), HANG]);

describe('two gateways with one queue', { skip: NO_POSTGRES, concurrency: false, timeout: patience(240_000) }, () => {
    let server, store, up, up2, a, b;

    /* Each with an upstream of its own, which tells who runs what. */
    const start = (upstream) => startDaemon({
        upstream: upstream.url,
        args: ['--model', 'm', '--store', store, '--background-running', '1', '--background-lease', '1s', '--conversation-lock', '1s', '--store-timeout', '2s', '--drain-timeout', '300ms'],
    });

    before(async () => {
        [up, up2] = [await startUpstream(), await startUpstream()];
        server = await startPostgres();
        store = await server.database();
        [a, b] = await Promise.all([start(up), start(up2)]);
    });
    beforeEach(() => [up, up2].forEach((one) => one.reset()));
    after(() => Promise.all([a?.stop(), b?.stop()]));
    after(() => server?.close());
    after(() => Promise.all([up?.close(), up2?.close()]));

    const upstreamOf = (daemon) => (daemon === a ? up : up2);
    const asked = () => [up, up2].flatMap(({ requests }) => requests.filter(({ whole }) => whole));

    /* Who runs this, once somebody does. */
    async function runnerOf(input) {
        for (const deadline = performance.now() + patience(10_000); ; await new Promise((done) => setTimeout(done, 10))) {
            const runner = [a, b].find((daemon) => upstreamOf(daemon).requests.some(({ body }) => body?.messages.at(-1).content === input));
            if (runner)
                return runner;
            assert.ok(performance.now() < deadline, `nobody runs ${input}`);
        }
    }
    const other = (daemon) => (daemon === a ? b : a);

    test('what is given to one is run by both', async () => {
        up.always(STARTED);
        up2.always(STARTED);
        const ids = [];
        for (const name of ['first', 'second'])
            ids.push((await accepted(a, { input: name }, captures)).id);
        const [one, two] = await Promise.all(['first', 'second'].map(runnerOf));
        assert.notEqual(one, two, 'each runs one');
        for (const id of ids)
            assert.equal(checkShown(await cancel(a, id)).status, 'cancelled');
        assert.equal(asked().length, 2);
    });

    test('each job is run once, wherever it was accepted and is asked for', async (t) => {
        for (const one of [up, up2])
            one.always(({ body }) => textStream(`Answer to ${body.messages.at(-1).content}`));
        const jobs = await Promise.all(Array.from({ length: 40 }, (_, i) => accepted([a, b][i % 2], { input: `job ${i}` }, captures)));
        const all = await Promise.all(jobs.map(({ id }, i) => ended([b, a][i % 2], id, captures)));
        all.forEach(({ status, output }, i) => assert.deepEqual([status, output[0].content[0].text], ['completed', `Answer to job ${i}`]));
        t.diagnostic(`the one has run ${up.requests.length}, the other ${up2.requests.length}`);
        assert.equal(asked().length, 40);
    });

    for (const how of ['cancel', 'delete']) {
        test(`${how} at the other one reaches the upstream`, async (t) => {
            up.always(STARTED);
            up2.always(STARTED);
            const { id } = await accepted(a, { input: how }, captures);
            const runner = await runnerOf(how);
            const reader = resume(other(runner), id);
            await reader.until('"delta":" two"');
            const since = performance.now();
            if (how === 'cancel')
                assert.equal(checkShown(await cancel(other(runner), id)).status, 'cancelled');
            else
                assert.equal((await ask(other(runner), undefined, { method: 'DELETE', path: `/v1/responses/${id}` })).status, 200);
            const request = upstreamOf(runner).requests[0];
            await request.closed;
            t.diagnostic(`the upstream sees it after ${(request.closedAt - since).toFixed(0)} ms`);
            if (how === 'delete') {
                await reader.done.catch(() => {});
                checkError(await get(runner, `/v1/responses/${id}`), 404, 'not_found');
                return;
            }
            const text = (await reader.done).text;
            captures.keep('cancelled elsewhere.sse', text);
            assert.equal(checkStream(text).response.error.code, 'response_cancelled');
            for (const daemon of [a, b]) {
                assert.equal((await ended(daemon, id, captures)).status, 'cancelled');
                checkTail(await tail(daemon, id), -1, text);
            }
        });
    }

    test('killed, its running work fails, its waiting work is run by the other, and a reader there sees both', async () => {
        up.always(STARTED);
        up2.always(STARTED);
        const blocked = [await accepted(a, { input: 'one' }, captures), await accepted(a, { input: 'two' }, captures)];
        const running = await Promise.all(['one', 'two'].map(runnerOf));
        const ofB = blocked[running.indexOf(b)], ofA = blocked[running.indexOf(a)];
        const waiting = await accepted(b, { input: 'waiting' }, captures);
        const reader = resume(a, ofB.id);
        await reader.until('"delta":" two"');
        up.always(textStream('Hello'));
        b.child.kill('SIGKILL');
        await b.exited;
        checkShown(await cancel(a, ofA.id)); /* so that there is a place for what waits */
        const { status, error } = await ended(a, ofB.id, captures);
        assert.deepEqual([status, error.code, error.message], ['failed', 'server_error', 'The gateway stopped while the response was in progress.']);
        const text = (await reader.done).text;
        captures.keep('killed.sse', text);
        const { response } = checkStream(text);
        assert.deepEqual([response.status, response.output[0].status], ['failed', 'incomplete']);
        checkTail(await tail(a, ofB.id), -1, text);
        assert.equal((await ended(a, waiting.id, captures)).status, 'completed');
        b = await start(up2);
        checkTail(await tail(b, ofB.id), -1, text);
        assert.equal(up2.requests.filter(({ body }) => body?.messages.at(-1).content === 'two' || body?.messages.at(-1).content === 'one').length, 1, 'it is not run again');
    });

    test('stopped in order, its running work fails when its time is over, its waiting work is run by the other', async () => {
        up.always(STARTED);
        up2.always(STARTED);
        const blocked = [await accepted(b, { input: 'one' }, captures), await accepted(b, { input: 'two' }, captures)];
        const running = await Promise.all(['one', 'two'].map(runnerOf));
        const waiting = await accepted(b, { input: 'waiting' }, captures);
        up.always(textStream('Hello'));
        await b.stop();
        assert.equal((await ended(a, blocked[running.indexOf(b)].id, captures)).status, 'failed');
        checkShown(await cancel(a, blocked[running.indexOf(a)].id));
        assert.equal((await ended(a, waiting.id, captures)).status, 'completed');
        b = await start(up2);
    });

    test('a conversation stays locked over the death of the gateway that has it, and is free when that is known', async () => {
        const { json: { id: conversation } } = await ask(b, {}, { path: '/v1/conversations' });
        up.always(STARTED);
        up2.always(STARTED);
        const { id } = await accepted(b, { input: 'held', conversation }, captures);
        const runner = await runnerOf('held');
        await become(runner, id, 'in_progress');
        checkError(await ask(other(runner), { model: 'm', input: 'Hi', conversation }), 409, 'conversation_locked');
        runner.child.kill('SIGKILL');
        await runner.exited;
        const survivor = other(runner);
        assert.equal((await ended(survivor, id, captures)).status, 'failed');
        upstreamOf(survivor).always(textStream('Hello'));
        for (const deadline = performance.now() + patience(20_000); ;) {
            const got = await ask(survivor, { model: 'm', input: 'Hi', conversation });
            if (got.status === 200)
                break;
            checkError(got, 409, 'conversation_locked');
            assert.ok(performance.now() < deadline, 'it is free again');
            await new Promise((done) => setTimeout(done, 50));
        }
        if (runner === a)
            a = await start(up);
        else
            b = await start(up2);
    });
});

captures.judge(test);
