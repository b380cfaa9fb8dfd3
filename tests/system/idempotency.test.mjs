/* idempotency.test.mjs -- requests that are repeated with their Idempotency-Key (CONTRACT 4.8).
 *
 * How often the upstream was asked tells whether a request ran: a repeated one is answered without it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon, successors } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { assistant, user } from '../lib/state.mjs';
import { CLOSE, HANG, chunk, failure, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi' };
const REUSED = {
    message: 'The Idempotency-Key was used with another request. Send the body that came with it first, or another key.',
    type: 'invalid_request_error',
    param: 'Idempotency-Key',
    code: 'idempotency_key_reused',
};
const TURN = '/v1/responses';
const COMPACT = '/v1/responses/compact';

let n_keys = 0;
const newKey = () => `key-${++n_keys}`;
const headersFor = (key, more = {}) => ({ 'idempotency-key': key, ...more });
const start = (daemon, key, body = {}, { path = TURN, headers = {} } = {}) =>
    open(daemon, { ...REQUEST, ...body }, { path, headers: headersFor(key, headers) });
const send = (...args) => start(...args).done;

const isReplay = (got) => got.headers['idempotent-replayed'];

function checkReplay(got, first) {
    assert.deepEqual([got.status, isReplay(got), got.text], [first.status, 'true', first.text]);
    assert.equal(got.headers['content-type'], first.headers['content-type']);
    assert.equal(isReplay(first), undefined, 'the first answer is no replay');
}

const checkReused = (got) => {
    assert.equal(got.status, 422);
    assert.deepEqual(got.json.error, REUSED);
};

const openGate = () => {
    let open;
    const gate = new Promise((done) => (open = done));
    return { gate, open };
};

/* An answer of the upstream that stands still in its middle until the gate is open. */
const gated = (gate) => stream([...frames(chunk({ content: 'one' })), gate, ...frames(chunk({ content: ' two' }), chunk({}, 'stop'), '[DONE]')]);

/* ---- form ---- */

describe('a key', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const [what, key] of [['is empty', ''], ['has 256 characters', 'k'.repeat(256)], ['has a space', 'a b'], ['has a tab', 'a\tb'], ['is not ASCII', 'k\xe9y']]) {
        for (const path of [TURN, COMPACT, '/v1/conversations', '/v1/conversations/conv_x/items']) {
            test(`that ${what} is refused on ${path}`, async () => {
                const got = await send(both.daemon, key, {}, { path });
                checkError(got, 400, 'invalid_value', 'Idempotency-Key');
                assert.equal(both.up.requests.length, 0);
            });
        }
    }

    test('that is refused leaves a line in the log, which does not show it', async () => {
        await new Promise((done) => setTimeout(done, 1100)); /* ten are told in a second, which others may have used up */
        await ask(both.daemon, REQUEST, { headers: { 'idempotency-key': 'two words', 'x-request-id': 'req_of_words' } });
        const [line] = await both.daemon.logged(/.* rejected .*request_id=req_of_words.*/);
        assert.match(line, / rejected reason=bad_request .* error=invalid_value param=Idempotency-Key( left_out=\d+)?$/);
    });

    test('of 1 and of 255 characters is one, and each its own', async () => {
        const keys = ['k', '~'.repeat(255), '!'.repeat(255), '"\'\\;,'];
        const answers = await Promise.all(keys.map((key) => send(both.daemon, key)));
        assert.equal(new Set(answers.map(({ json }) => json.id)).size, keys.length);
        for (const [i, key] of keys.entries())
            checkReplay(await send(both.daemon, key), answers[i]);
        assert.equal(both.up.requests.length, keys.length);
    });

    for (const path of ['/v1/chat/completions', '/v1/responses/input_tokens']) {
        test(`has no effect on ${path}`, async () => {
            const key = newKey(), body = { messages: [user('Hi')] };
            for (let i = 0; i < 2; i++)
                assert.equal(isReplay(await send(both.daemon, key, body, { path })), undefined);
        });
    }
});

/* ---- responses, kept in the store and in memory ---- */

for (const store of [true, false]) {
    describe(`with store ${store}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, '--api-key', 'key-of-anna', '--api-key', 'key-of-ben', '--workers', '3');
        const anna = { authorization: 'Bearer key-of-anna' }, ben = { authorization: 'Bearer key-of-ben' };
        const begin = (key, body = {}, headers = anna) => start(both.daemon, key, { store, ...body }, { headers });
        const respond = (...args) => begin(...args).done;
        const n_asked = () => both.up.requests.length;

        for (const streamed of [false, true]) {
            const how = streamed ? 'streamed' : 'not streamed';
            const body = { stream: streamed };

            test(`${how}: what has finished is answered again, to the byte`, async () => {
                const key = newKey(), first = await respond(key, body);
                for (let i = 0; i < 3; i++)
                    checkReplay(await respond(key, body), first);
                assert.equal(n_asked(), 1);
                captures.keep(`replayed ${how} ${store}.${streamed ? 'sse' : 'json'}`, (await respond(key, body)).text);
            });

            test(`${how}: whoever comes while it runs waits for the same answer`, async () => {
                const key = newKey(), { gate, open } = openGate();
                both.up.always(gated(gate));
                const first = begin(key, body);
                await both.up.request(0);
                const others = [begin(key, body), begin(key, body), begin(key, body)];
                await get(both.daemon, '/health');
                open();
                await first.done;
                for (const other of others)
                    checkReplay(await other.done, first);
                assert.equal(n_asked(), 1);
            });

            test(`${how}: what the upstream refuses leaves the key free`, async () => {
                const key = newKey();
                both.up.next(failure(500, 'broken'));
                assert.equal((await respond(key, body)).status, 502);
                const second = await respond(key, body);
                assert.deepEqual([second.status, isReplay(second)], [200, undefined]);
                checkReplay(await respond(key, body), second);
                assert.equal(n_asked(), 2);
            });

            test(`${how}: a client that leaves frees the key`, async () => {
                const key = newKey();
                both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
                const first = begin(key, body);
                const asked = await both.up.request(0);
                if (streamed)
                    await first.until('"delta":"one"');
                first.destroy();
                await asked.closed;
                const second = await respond(key, body);
                assert.deepEqual([second.status, isReplay(second)], [200, undefined]);
                assert.equal(n_asked(), 2);
            });
        }

        test('a stream that ends failed leaves the key free', async () => {
            const key = newKey();
            both.up.next(stream([...frames(chunk({ content: 'one' })), CLOSE]));
            const first = await respond(key, { stream: true });
            assert.equal(checkStream(first.text).response.status, 'failed');
            const second = await respond(key, { stream: true });
            assert.deepEqual([checkStream(second.text).response.status, isReplay(second)], ['completed', undefined]);
        });

        test('an incomplete response is answered again', async () => {
            const key = newKey();
            both.up.next(textStream('Hello', { finish: 'length' }));
            const first = await respond(key);
            assert.equal(first.json.status, 'incomplete');
            checkReplay(await respond(key), first);
        });

        test('a streamed answer in the legacy dialect is answered in it', async () => {
            const key = newKey(), headers = { ...anna, 'x-gateway-dialect': 'ors' };
            const first = await respond(key, { stream: true }, headers);
            checkReplay(await respond(key, { stream: true }, headers), first);
            assert.equal(n_asked(), 1);
        });

        test('another body is refused, also while the first runs, and changes nothing', async () => {
            const key = newKey(), { gate, open } = openGate();
            both.up.always(gated(gate));
            const first = begin(key);
            await both.up.request(0);
            for (const other of [{ input: 'Ho' }, { stream: true }, { metadata: {} }])
                checkReused(await respond(key, other));
            open();
            await first.done;
            checkReused(await respond(key, { input: 'Ho' }));
            checkReplay(await respond(key), first);
        });

        test('a body that the gateway refuses leaves the key free for another', async () => {
            const key = newKey();
            checkError(await respond(key, { temperature: 5 }), 400, 'decimal_above_max_value', 'temperature');
            assert.equal((await respond(key)).status, 200);
        });

        test('the key of another owner is another key', async () => {
            const key = newKey(), hers = await respond(key), his = await respond(key, { input: 'Ho' }, ben);
            assert.notEqual(hers.json.id, his.json.id);
            checkReplay(await respond(key), hers);
            checkReplay(await respond(key, { input: 'Ho' }, ben), his);
        });

        test('many at once with one key run once', async () => {
            const key = newKey();
            const answers = await Promise.all(Array.from({ length: 40 }, () => respond(key)));
            assert.equal(n_asked(), 1);
            assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
            assert.equal(answers.filter((got) => isReplay(got) === undefined).length, 1);
        });

        test('a client that waits may leave, and the first is answered', async () => {
            const key = newKey(), { gate, open } = openGate();
            both.up.always(gated(gate));
            const first = begin(key);
            await both.up.request(0);
            const second = begin(key);
            await new Promise((done) => second.request.on('finish', done));
            second.destroy();
            await both.daemon.logged(/info repeated .*outcome=client_gone/);
            open();
            assert.equal((await first.done).status, 200);
            checkReplay(await respond(key), first);
        });
    });
}

/* ---- conversations and their items, kept in the store with what they wrote ---- */

describe('a conversation', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const post = (path, key, body) => send(both.daemon, key, { model: undefined, input: undefined, ...body }, { path });
    const itemsOf = async (id) => (await get(both.daemon, `/v1/conversations/${id}/items`)).json.data.map(({ content }) => content[0].text);

    test('that is made again is the same one', async () => {
        const key = newKey(), body = { metadata: { a: 'b' }, items: [user('One')] };
        const first = await post('/v1/conversations', key, body);
        checkReplay(await post('/v1/conversations', key, body), first);
        checkReused(await post('/v1/conversations', key, { metadata: { a: 'c' } }));
        assert.deepEqual(await itemsOf(first.json.id), ['One']);
        captures.keep('conversation.json', first.text);
    });

    test('has items once that are added again; each conversation has keys of its own', async () => {
        const key = newKey(), body = { items: [user('One'), user('Two')] };
        const ids = await Promise.all([1, 2].map(async () => (await post('/v1/conversations', newKey())).json.id));
        for (const id of ids) {
            const path = `/v1/conversations/${id}/items`, first = await post(path, key, body);
            for (let i = 0; i < 3; i++)
                checkReplay(await post(path, key, body), first);
            assert.deepEqual((await itemsOf(id)).sort(), ['One', 'Two']);
            checkReused(await post(path, key, { items: [user('Three')] }));
        }
    });

    test('that is refused leaves the key free', async () => {
        const key = newKey();
        checkError(await post('/v1/conversations', key, { items: 'x' }), 400, 'invalid_type', 'items');
        const first = await post('/v1/conversations', key, { items: [user('One')] });
        assert.equal(first.status, 200);
        checkError(await post('/v1/conversations/conv_x/items', key, { items: [user('One')] }), 404, 'not_found');
        checkError(await post('/v1/conversations/conv_x/items', key, { items: [user('Two')] }), 404, 'not_found');
    });

    test('is made once by many at once', async () => {
        const key = newKey();
        const answers = await Promise.all(Array.from({ length: 30 }, () => post('/v1/conversations', key)));
        assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
        assert.equal(answers.filter((got) => isReplay(got) === undefined).length, 1);
    });

    test('may have a large body', async () => {
        const key = newKey(), body = { items: [user('x'.repeat(1 << 20))] };
        const first = await post('/v1/conversations', key, body);
        assert.equal(first.status, 200);
        checkReplay(await post('/v1/conversations', key, body), first);
        checkReused(await post('/v1/conversations', key, { items: [user('x'.repeat((1 << 20) - 1) + 'y')] }));
    });
});

/* ---- other requests ---- */

describe('a summary', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('is answered again, and its key is no other path\'s', async () => {
        const key = newKey(), input = [user('One'), assistant('Two')];
        const first = await send(both.daemon, key, { input }, { path: COMPACT });
        assert.equal(first.json.object, 'response.compaction');
        checkReplay(await send(both.daemon, key, { input }, { path: COMPACT }), first);
        const turn = await send(both.daemon, key);
        assert.deepEqual([turn.status, isReplay(turn), both.up.requests.length], [200, undefined, 2]);
    });
});

/* ---- streams that are cut ---- */

const N_EVENTS = 10; /* of the usual answer, with [DONE] */

const nEvents = (text) => text.split('\n\n').length - 1;

for (const store of [true, false]) {
    test(`a stream that is cut after any event is sent again, and ends well (store ${store})`, async (t) => {
        const { up, daemon } = await pair(t);
        for (let k = 1; k <= N_EVENTS; k++) {
            const key = newKey();
            const first = start(daemon, key, { store, stream: true });
            await first.until(() => nEvents(first.text) >= k);
            first.destroy();
            const again = await send(daemon, key, { store, stream: true });
            assert.equal(checkStream(again.text).response.status, 'completed');
            if (isReplay(again))
                assert.ok(again.text.startsWith(first.text), 'what was seen of it is the beginning of what is sent again');
        }
        assert.ok(up.requests.length >= N_EVENTS);
    });
}

const WORDS = ['one', ' two', ' three', ' four'];

/* The upstream's answer, and after each word a gate. */
const stepwise = (gates) => stream([...WORDS.flatMap((word, i) => [...frames(chunk({ content: word })), gates[i]]), ...frames(chunk({}, 'stop'), '[DONE]')]);

for (const k of [2, 5, 6, 7]) {
    test(`a stream that goes on without its client (resume_window) is joined by its key, cut after ${k} events`, async (t) => {
        const { up, daemon } = await pair(t, '--resume-window', '1m');
        const gates = WORDS.map(openGate), key = newKey();
        up.next(stepwise(gates.map(({ gate }) => gate)));
        const first = start(daemon, key, { stream: true });
        for (let i = 0; i < k - 4; i++)
            gates[i].open();
        await first.until(() => nEvents(first.text) >= k);
        first.destroy();
        const again = start(daemon, key, { stream: true });
        await again.until('response.in_progress');
        for (const { open } of gates)
            open();
        const got = await again.done;
        assert.equal(isReplay(got), 'true');
        assert.equal(checkStream(got.text).response.status, 'completed');
        assert.ok(got.text.startsWith(first.text));
        assert.equal(up.requests.length, 1);
        captures.keep(`joined after ${k}.sse`, got.text);
        checkReplay(await send(daemon, key, { stream: true }), { ...first, status: 200, headers: first.headers, text: got.text });
    });
}

test('a stream that was joined by its key goes on when its first client leaves, and ends with the one that joined it', async (t) => {
    const { up, daemon } = await pair(t);
    for (const stays of [true, false]) {
        const gates = WORDS.map(openGate), key = newKey();
        up.next(stepwise(gates.map(({ gate }) => gate)));
        const first = start(daemon, key, { stream: true });
        await first.until('response.in_progress');
        const joined = start(daemon, key, { stream: true });
        await joined.until('response.in_progress');
        first.destroy();
        await daemon.logged(/turn_left /);
        gates[0].open();
        await joined.until('one');
        if (!stays) {
            joined.destroy();
            await up.requests.at(-1).closed;
            continue;
        }
        for (const { open } of gates)
            open();
        const got = await joined.done;
        assert.equal(isReplay(got), 'true');
        assert.equal(checkStream(got.text).response.status, 'completed');
        assert.equal(up.requests.length, 1);
        checkReplay(await send(daemon, key, { stream: true }), { ...first, status: 200, headers: first.headers, text: got.text });
    }
});

test('neither a key nor resume_window takes from what a request may have of memory', async (t) => {
    const [plain, kept] = [await pair(t, '--max-request-memory', '64KiB'), await pair(t, '--max-request-memory', '64KiB', '--resume-window', '1m')];
    const ignored = { 'x-ignored': 'x'.repeat(70_000) }, read = { input: 'x'.repeat(70_000) };
    for (const stream of [false, true]) {
        for (const respond of [(body) => send(plain.daemon, newKey(), body), (body) => ask(kept.daemon, { ...REQUEST, ...body })]) {
            assert.equal((await respond({ stream, ...ignored })).status, 200);
            checkError(await respond({ stream, ...read }), 413, 'request_too_large');
        }
    }
});

test('a stream is read again without padding, or with new padding when it had some', async (t) => {
    const { daemon } = await pair(t);
    for (const include_obfuscation of [false, true]) {
        const key = newKey(), body = { stream: true, stream_options: { include_obfuscation } };
        const plain = (got) => got.text.replaceAll(/,"obfuscation":"[^"]*"/g, '');
        const first = await send(daemon, key, body), again = await send(daemon, key, body);
        assert.equal(plain(again), plain(first));
        assert.equal(again.text.includes('"obfuscation"'), include_obfuscation);
    }
});

test('a stream can be sent again where only those of background responses can be read', async (t) => {
    const { daemon } = await pair(t, '--resumable', 'background');
    const key = newKey(), first = await send(daemon, key, { stream: true });
    checkReplay(await send(daemon, key, { stream: true }), first);
});

/* ---- in the background ---- */

describe('in the background', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const TERMINAL = /"status":"(completed|failed|cancelled)"/;

    const until = async (id) => {
        for (;;) {
            const { text, json } = await get(both.daemon, `${TURN}/${id}`);
            if (TERMINAL.test(text))
                return json;
        }
    };

    test('the answer is the object as it is now', async () => {
        const key = newKey(), body = { background: true }, { gate, open } = openGate();
        both.up.next(gated(gate));
        const first = await send(both.daemon, key, body);
        assert.equal(first.json.status, 'queued');
        await both.up.request(0);
        for (let i = 0; i < 3; i++) {
            const again = await send(both.daemon, key, body);
            assert.deepEqual([again.status, isReplay(again), again.json.id], [200, 'true', first.json.id]);
            assert.match(again.json.status, /^(queued|in_progress)$/);
            assert.match(again.headers['openai-poll-after-ms'], /^\d+$/);
        }
        open();
        const ended = await until(first.json.id);
        const again = await send(both.daemon, key, body);
        assert.deepEqual(again.json, ended);
        assert.equal(again.headers['openai-poll-after-ms'], undefined);
        assert.equal(both.up.requests.length, 1);
        checkReused(await send(both.daemon, key, { background: true, input: 'Ho' }));
    });

    test('one that has failed is answered as well', async () => {
        const key = newKey(), body = { background: true };
        both.up.next(failure(400, 'no'));
        const first = await send(both.daemon, key, body);
        assert.equal((await until(first.json.id)).status, 'failed');
        const again = await send(both.daemon, key, body);
        assert.deepEqual([again.json.id, again.json.status], [first.json.id, 'failed']);
        assert.equal(both.up.requests.length, 1);
    });

    test('streamed, its events are sent from the first one on', async () => {
        const key = newKey(), body = { background: true, stream: true }, { gate, open } = openGate();
        both.up.next(gated(gate));
        const first = start(both.daemon, key, body);
        await first.until('"delta":"one"');
        const joined = start(both.daemon, key, body);
        await joined.until('"delta":"one"');
        first.destroy();
        open();
        const got = await joined.done;
        assert.equal(isReplay(got), 'true');
        assert.ok(got.text.startsWith(first.text));
        assert.equal(checkStream(got.text).response.status, 'completed');
        checkReplay(await send(both.daemon, key, body), { ...first, status: 200, headers: first.headers, text: got.text });
        assert.equal(both.up.requests.length, 1);
    });
});

/* ---- what outlives a gateway ---- */

const KEPT = [
    ['a response', TURN, REQUEST],
    ['a stream', TURN, { ...REQUEST, stream: true }],
    ['a conversation', '/v1/conversations', { metadata: { a: 'b' } }],
];
const once = (daemon, key, [, path, body], more = {}) => ask(daemon, { ...body, ...more }, { path, headers: headersFor(key) });

async function upstream(t) {
    const up = await startUpstream();
    t.after(() => up.close());
    return up;
}

/* A gateway of which the test sees to the end. */
async function begin(t, up, ...args) {
    const daemon = await startDaemon({ upstream: up.url, args });
    t.after(() => daemon.child.kill('SIGKILL'));
    return daemon;
}

test('a gateway that is started again gives the answers of the one before', async (t) => {
    const up = await upstream(t), next = successors(t, up);
    const keys = KEPT.map(newKey), answers = [];
    const first = await next();
    for (const [i, kept] of KEPT.entries())
        answers.push(await once(first, keys[i], kept));
    const second = await next();
    for (const [i, kept] of KEPT.entries()) {
        checkReplay(await once(second, keys[i], kept), answers[i]);
        checkReused(await once(second, keys[i], kept, { metadata: { other: 'body' } }));
    }
    assert.equal(up.requests.length, 2);
});

test('a gateway that is killed while a request runs leaves its key free, those that have ended are kept', async (t) => {
    const up = await upstream(t), store = ['--store', `sqlite:${folder(t, 'antiphon.db')}`];
    const killed = await begin(t, up, ...store), keys = KEPT.map(newKey), running = newKey(), answers = [];
    for (const [i, kept] of KEPT.entries())
        answers.push(await once(killed, keys[i], kept));
    up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
    const cut = start(killed, running, { stream: true });
    await cut.until('"delta":"one"');
    killed.child.kill('SIGKILL');
    await killed.exited;
    const next = await begin(t, up, ...store);
    for (const [i, kept] of KEPT.entries())
        checkReplay(await once(next, keys[i], kept), answers[i]);
    const again = await send(next, running, { stream: true });
    assert.equal(isReplay(again), undefined);
    assert.equal(checkStream(again.text).response.status, 'completed');
    await next.stop();
});

test('a key expires, by the time of the store', async (t) => {
    const file = folder(t, 'antiphon.db'), up = await upstream(t);
    const again = () => begin(t, up, '--store', `sqlite:${file}`);
    const keys = KEPT.map(newKey), answers = [];
    let daemon = await again();
    for (const [i, kept] of KEPT.entries())
        answers.push(await once(daemon, keys[i], kept));
    for (const [hours, isKept] of [[-23, true], [-2, false]]) {
        await daemon.stop();
        const aged = spawnSync('sqlite3', [file, `UPDATE idempotency SET begun_at = begun_at + ${hours * 3600 * 1000}`]);
        assert.equal(aged.status, 0, String(aged.stderr));
        daemon = await again();
        for (const [i, kept] of KEPT.entries()) {
            const got = await once(daemon, keys[i], kept);
            if (isKept)
                checkReplay(got, answers[i]);
            else
                assert.deepEqual([got.status, isReplay(got)], [200, undefined]);
        }
    }
    await daemon.stop();
});

test('a response that was deleted is not found by its key, and nothing runs', async (t) => {
    const { up, daemon } = await pair(t);
    for (const stream of [false, true]) {
        const key = newKey(), first = await send(daemon, key, { stream });
        const { id } = stream ? checkStream(first.text).response : first.json;
        assert.equal((await ask(daemon, undefined, { method: 'DELETE', path: `${TURN}/${id}` })).status, 200);
        checkError(await send(daemon, key, { stream }), 404, 'not_found');
    }
    assert.equal(up.requests.length, 2);
});

test('a key in the store needs the store, and one in memory does not', { skip: NO_POSTGRES }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    const { up, daemon } = await pair(t, '--store', await server.database(), '--store-timeout', '500ms');
    const key = newKey(), held = newKey(), first = await send(daemon, key);
    const kept = await send(daemon, held, { store: false });
    await server.stop();
    for (const body of [{}, { stream: true }, { input: 'Ho' }])
        checkError(await send(daemon, key, body), 503, 'server_is_overloaded');
    checkReplay(await send(daemon, held, { store: false }), kept);
    assert.equal(up.requests.length, 2, 'nothing has run');
    await server.start();
    for (;;) {
        const got = await send(daemon, key);
        if (got.status !== 503) {
            checkReplay(got, first);
            return;
        }
    }
});

/* ---- memory ---- */

const MiB = 1 << 20;

test('answers in memory take no more than idempotency_memory: the oldest go first', async (t) => {
    const { up, daemon } = await pair(t, '--idempotency-memory', '2MiB');
    up.always(() => textStream('x'.repeat(MiB / 2)));
    const keys = Array.from({ length: 6 }, newKey), answers = [];
    for (const key of keys)
        answers.push(await send(daemon, key, { store: false }));
    checkReplay(await send(daemon, keys[5], { store: false }), answers[5]);
    const again = await send(daemon, keys[0], { store: false });
    assert.equal(isReplay(again), undefined, 'it had to go');
    assert.equal(up.requests.length, 7);
});

test('an answer larger than that is given, and not kept', async (t) => {
    const { up, daemon } = await pair(t, '--idempotency-memory', '1MiB');
    up.always(() => textStream('x'.repeat(2 * MiB)));
    for (const stream of [false, true]) {
        const key = newKey();
        for (let i = 0; i < 2; i++) {
            const got = await send(daemon, key, { store: false, stream });
            assert.deepEqual([got.status, isReplay(got)], [200, undefined]);
            assert.ok(got.text.length > 2 * MiB);
        }
    }
});

test('idempotency_memory 0 keeps none, but one request runs at a time', async (t) => {
    const { up, daemon } = await pair(t, '--idempotency-memory', '0'), key = newKey();
    for (let i = 0; i < 2; i++)
        assert.equal(isReplay(await send(daemon, key, { store: false })), undefined);
    assert.equal(up.requests.length, 2);
});

/* ---- the end of a gateway ---- */

for (const store of [true, false]) {
    test(`a gateway that ends answers those who wait for another's answer (store ${store})`, async (t) => {
        const up = await upstream(t);
        const daemon = await begin(t, up, '--drain-timeout', '100ms');
        const key = newKey();
        up.always(stream([...frames(chunk({ content: 'one' })), HANG]));
        const first = start(daemon, key, { store });
        await up.request(0);
        const others = [start(daemon, key, { store }), start(daemon, key, { store })];
        await Promise.all(others.map(({ request }) => new Promise((done) => request.on('finish', done))));
        await get(daemon, '/health');
        await daemon.stop();
        for (const got of await Promise.all([first, ...others].map(({ done }) => done)))
            assert.ok(got.status >= 500, `${got.status}`);
    });
}

for (const isInTime of [true, false]) {
    test(`a gateway that ends lets who has joined a stream read on for drain_timeout (${isInTime ? 'in time' : 'too late'})`, async (t) => {
        const up = await upstream(t);
        const daemon = await begin(t, up, '--workers', '2', '--drain-timeout', isInTime ? '1m' : '100ms');
        const key = newKey(), { gate, open } = openGate();
        t.after(open);
        up.next(gated(gate));
        const first = start(daemon, key, { stream: true });
        await first.until('"delta":"one"');
        const joined = start(daemon, key, { stream: true });
        await joined.until('"delta":"one"');
        first.destroy();
        await daemon.logged(/turn_left /);
        const ended = daemon.stop();
        if (isInTime) {
            open();
            assert.equal(checkStream((await joined.done).text).response.status, 'completed');
        } else {
            const got = await joined.done.catch(() => null); /* it is told, if there is time for that */
            assert.ok(got === null || checkStream(got.text).response.status === 'failed');
        }
        await ended;
        assert.match(daemon.log, new RegExp(`turn id=resp_\\w+ .*status=${isInTime ? 'completed' : 'failed'}`));
    });
}

/* ---- two gateways ---- */

describe('two gateways on one PostgreSQL', { skip: NO_POSTGRES, concurrency: false, timeout: patience(120_000) }, () => {
    let server, up, a, b;

    before(async () => {
        up = await startUpstream();
        server = await startPostgres();
        const args = ['--store', await server.database(), '--conversation-lock', '1s'];
        [a, b] = await Promise.all([startDaemon({ upstream: up.url, args }), startDaemon({ upstream: up.url, args })]);
    });
    beforeEach(() => up.reset());
    after(async () => {
        a?.child.kill('SIGKILL');
        await b?.stop();
    });
    after(() => server?.close());
    after(() => up?.close());

    for (const kept of KEPT) {
        test(`${kept[0]} of the one is the answer of the other, also when both are asked at once`, async () => {
            const key = newKey(), first = await once(a, key, kept);
            checkReplay(await once(b, key, kept), first);
            checkReused(await once(b, key, kept, { metadata: { other: 'body' } }));
            for (let i = 0; i < 20; i++) {
                const both = newKey(), answers = await Promise.all([a, b, a, b].map((daemon) => once(daemon, both, kept)));
                assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
                assert.equal(answers.filter((got) => isReplay(got) === undefined).length, 1);
            }
        });
    }

    for (const body of [{}, { stream: true }]) {
        test(`${body.stream ? 'a stream' : 'an answer'} that runs at the one is waited for at the other`, async () => {
            const key = newKey(), { gate, open } = openGate();
            up.always(gated(gate));
            const first = start(a, key, body);
            await up.request(0);
            const other = start(b, key, body);
            await get(b, '/health');
            open();
            checkReplay(await other.done, await first.done);
            assert.equal(up.requests.length, 1);
        });
    }

    test('when the one is killed the other runs the request that has waited', async () => {
        const key = newKey();
        up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const first = start(a, key, { stream: true });
        await first.until('"delta":"one"');
        const other = start(b, key, { stream: true });
        await get(b, '/health');
        a.child.kill('SIGKILL');
        const got = await other.done;
        assert.equal(isReplay(got), undefined);
        assert.equal(checkStream(got.text).response.status, 'completed');
        assert.equal(up.requests.length, 2);
    });
});

captures.judge(test);
