/* postgres.test.mjs -- a gateway whose PostgreSQL server goes away, or stands still. */
import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, PASSWORD, startPostgres } from '../lib/postgres.mjs';
import { failure, startUpstream, textStream } from '../lib/upstream.mjs';

describe('PostgreSQL', { skip: NO_POSTGRES, concurrency: false }, () => {
    let server, up, daemon;

    before(async () => {
        server = await startPostgres();
        up = await startUpstream();
        daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', await server.database(), '--store-timeout', '500ms'] });
    });
    after(async () => {
        await daemon?.stop();
        await up?.close();
        await server?.close();
    });

    const respond = (more = {}) => ask(daemon, { input: 'Hi', store: true, ...more });

    /* The answer says that the store failed, and not where it is. */
    async function fails() {
        const { status, text } = await respond();
        assert.ok(status === 500 || status === 503, text);
        assert.match(JSON.parse(text).error.message, /store/i);
        assert.ok(!text.includes('127.0.0.1') && !text.includes('antiphon'), text);
    }

    async function worksAgain() {
        for (const deadline = performance.now() + patience(20_000); ;) {
            const { status, json } = await respond();
            if (status === 200)
                return json;
            assert.ok(performance.now() < deadline, 'the store works again');
        }
    }

    for (const [what, go, comeBack] of [
        ['stopped', () => server.stop(), () => server.start()],
        ['died', () => server.kill(), () => server.start()],
        ['stands still', () => server.freeze(), () => server.thaw()],
    ]) {
        test(`a server that ${what} fails requests, and no more when it is back`, async () => {
            const { id } = await worksAgain();
            await go();
            await fails();
            await comeBack();
            await worksAgain();
            assert.equal((await respond({ previous_response_id: id })).status, 200, 'what was stored is still there');
        });
    }

    /* Several connections are at work: what unlocks it may be overtaken by what locks it. */
    test('a conversation is free when the answer is there, also of what is not stored, or fails', async () => {
        const { json: { id } } = await ask(daemon, {}, { path: '/v1/conversations' });
        for (let i = 0; i < 60; i++) {
            const fails = i % 3 === 1;
            up.next(fails ? failure(500, 'no') : textStream('Hello'));
            const { status, text } = await respond({ conversation: id, store: i % 2 === 0, stream: i % 4 > 1 });
            assert.equal(status, fails ? 502 : 200, text);
        }
    });

    test('the log names the kind of store at start', () => daemon.logged(/listening .*store=postgres(ql)? /));

    test('the password is in no line of the log', () => void assert.ok(!daemon.log.includes(PASSWORD)));
});
