/* lock_life.test.mjs -- how long a conversation stays locked: for as long as the gateway lives that
 * answers in it, whatever the clocks say, and not much longer.
 */
import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { NO_FAKETIME, clock } from '../lib/clock.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { ABOUT_TIME, patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const LEASE_MS = 1000;
const CLOCKS = [['an hour ahead', '+1h'], ['an hour behind', '-1h']];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* Gateways on one store, which go with the test. */
async function gateways(t, store, lease = `${LEASE_MS}ms`) {
    const up = await startUpstream();
    t.after(() => up.close());
    const start = async (env = {}) => {
        const daemon = await startDaemon({ upstream: up.url, env, args: ['--store', store, '--conversation-lock', lease, '--model', 'm'] });
        t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
        return daemon;
    };
    return { up, start };
}

/* A response in a new conversation that ends when release() is called. */
async function slowTurn(up, daemon) {
    const { json: { id: conversation } } = await ask(daemon, {}, { path: '/v1/conversations' });
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const call = open(daemon, { input: 'first', conversation, stream: true });
    await call.until('"delta":"Slow"');
    return { conversation, call, release };
}

const next = (daemon, conversation) => ask(daemon, { input: 'second', conversation });

async function untilFree(daemon, conversation) {
    for (const deadline = performance.now() + patience(20_000); ;) {
        const got = await next(daemon, conversation);
        if (got.status === 200)
            return got;
        checkError(got, 409, 'conversation_locked');
        assert.ok(performance.now() < deadline, 'the conversation becomes free');
        await pause(20);
    }
}

function about(store) {
    test('a gateway that is killed leaves no conversation locked for the next on this machine', async (t) => {
        const { up, start } = await gateways(t, await store(t), '1h');
        const first = await start();
        const { conversation, call } = await slowTurn(up, first);
        first.child.kill('SIGKILL');
        await Promise.all([first.exited, call.done.catch(() => {})]);
        const second = await start();
        up.always(textStream('Hello'));
        const got = await next(second, conversation);
        assert.equal(got.status, 200, got.text);
        await second.stop();
    });

    test('the other gateway does not wait for a killed one either', async (t) => {
        const { up, start } = await gateways(t, await store(t), '1h');
        const [first, second] = [await start(), await start()];
        const { conversation, call } = await slowTurn(up, first);
        checkError(await next(second, conversation), 409, 'conversation_locked');
        first.child.kill('SIGKILL');
        await Promise.all([first.exited, call.done.catch(() => {})]);
        up.always(textStream('Hello'));
        const got = await next(second, conversation);
        assert.equal(got.status, 200, got.text);
        await second.stop();
    });

    for (const [what, offset] of CLOCKS) {
        test(`a lock holds against a gateway whose clock is ${what}`, { skip: NO_FAKETIME || ABOUT_TIME }, async (t) => {
            const { up, start } = await gateways(t, await store(t));
            const [right, wrong] = [await start(), await start(clock(t, offset).env)];
            for (const [holder, other] of [[right, wrong], [wrong, right]]) {
                const { conversation, call, release } = await slowTurn(up, holder);
                for (const end = performance.now() + 2.5 * LEASE_MS; performance.now() < end; await pause(50))
                    checkError(await next(other, conversation), 409, 'conversation_locked');
                release();
                assert.equal(checkStream((await call.done).text).response.status, 'completed');
                up.always(textStream('Hello'));
                assert.equal((await next(other, conversation)).status, 200);
            }
            await Promise.all([right.stop(), wrong.stop()]);
        });

        test(`a gateway that stands still loses its lock to one whose clock is ${what}, and is told`, { skip: NO_FAKETIME }, async (t) => {
            const { up, start } = await gateways(t, await store(t));
            const [right, wrong] = [await start(), await start(clock(t, offset).env)];
            const { conversation, call, release } = await slowTurn(up, right);
            right.child.kill('SIGSTOP');
            up.always(textStream('Hello'));
            await untilFree(wrong, conversation);
            const { conversation: another, call: slow, release: end } = await slowTurn(up, wrong);
            right.child.kill('SIGCONT');
            release();
            await call.done; /* it may have been the only one in between */
            checkError(await next(right, another), 409, 'conversation_locked');
            end();
            await slow.done;
            await Promise.all([right.stop(), wrong.stop()]);
        });
    }

    test('a clock that is set while a response is made neither loses its lock nor keeps it', { skip: NO_FAKETIME || ABOUT_TIME }, async (t) => {
        const { up, start } = await gateways(t, await store(t));
        const time = clock(t, '+0');
        const [set, other] = [await start(time.env), await start()];
        const { conversation, call, release } = await slowTurn(up, set);
        for (const offset of ['+1h', '-1h', '+40d']) {
            time.set(offset);
            for (const end = performance.now() + 2 * LEASE_MS; performance.now() < end; await pause(50))
                checkError(await next(other, conversation), 409, 'conversation_locked');
        }
        release();
        assert.equal(checkStream((await call.done).text).response.status, 'completed');
        up.always(textStream('Hello'));
        assert.equal((await next(other, conversation)).status, 200);
        await Promise.all([set.stop(), other.stop()]);
    });
}

describe('SQLite', { concurrency: false }, () => {
    about((t) => `sqlite:${folder(t, 'antiphon.db')}`);
});

describe('PostgreSQL', { skip: NO_POSTGRES, concurrency: false, timeout: patience(240_000) }, () => {
    let server;

    before(async () => {
        server = await startPostgres();
    });
    after(() => server?.close());
    about(() => server.database());
});
