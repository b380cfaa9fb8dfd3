/* background_errors.test.mjs -- what is refused about background work and about reading a stream again, and what
 * happens when the store fails under it: an error that says so, or a failed response, and nobody waits forever. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { accepted, cancel, checkShown, ended, idOf, resume, tail } from '../lib/background.mjs';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkTail } from '../lib/check_resume.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { untilReady } from '../lib/ready.mjs';
import { strange } from '../lib/state.mjs';
import { HANG, chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const REQUEST = { model: 'm', input: 'Hi', background: true };
const STARTED = stream([...frames(chunk({ content: 'one' }), chunk({ content: ' two' })), HANG]);

function refused(got, what, ...wanted) {
    captures.keep(`${what}.json`, got.bytes, '--kind', 'error');
    return checkError(got, ...wanted);
}

describe('bad input', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let id;

    before(async () => {
        id = idOf((await ask(both.daemon, { model: 'm', input: 'Hi', stream: true })).text);
    });

    /* [what the query says, the parameter that is named] */
    for (const [query, param] of [
        ['stream=true&starting_after=-2', 'starting_after'],
        ['stream=true&starting_after=x', 'starting_after'],
        ['stream=true&starting_after=', 'starting_after'],
        ['stream=true&starting_after=1.5', 'starting_after'],
        ['stream=true&starting_after=1e3', 'starting_after'],
        ['stream=true&starting_after=+1', 'starting_after'],
        ['stream=true&starting_after=%201', 'starting_after'],
        ['stream=true&starting_after=0x10', 'starting_after'],
        ['stream=true&starting_after=1,2', 'starting_after'],
        ['stream=true&starting_after=-99999999999999999999999999', 'starting_after'],
        ['stream=true&starting_after=1%00', 'starting_after'],
        ['stream=maybe', 'stream'],
        ['stream=true&include_obfuscation=maybe', 'include_obfuscation'],
        ['stream=true&include[]=nothing', undefined],
    ]) {
        test(`?${query}`, async () => {
            refused(await get(both.daemon, `/v1/responses/${id}?${query}`), query, 400, 'invalid_value', param);
        });
    }

    for (const path of [
        'responses/resp_unknown?stream=true', 'responses/resp_unknown?stream=true&starting_after=3',
        'responses/x?stream=true', 'responses/msg_1234567890abcdef?stream=true',
    ])
        test(`GET ${path} is not found`, async () => void refused(await get(both.daemon, `/v1/${path}`), path, 404, 'not_found'));

    for (const path of ['responses/resp_unknown/cancel', 'responses/x/cancel'])
        test(`POST ${path} is not found`, async () => void refused(await ask(both.daemon, undefined, { path: `/v1/${path}` }), path, 404, 'not_found'));

    /* [what the request says, the error] */
    for (const [more, ...error] of [
        [{ store: false }, 400, 'invalid_value', 'background'],
        [{ store: false, stream: true }, 400, 'invalid_value', 'background'],
        [{ background: 'yes' }, 400, 'invalid_type', 'background'],
        [{ previous_response_id: 'resp_unknown' }, 400, 'previous_response_not_found', 'previous_response_id'],
        [{ conversation: 'conv_unknown' }, 404, 'not_found', 'conversation'],
        [{ temperature: 9 }, 400, 'decimal_above_max_value', 'temperature'],
        [{ tools: [{ type: 'mcp', server_label: 'unknown' }] }, 400],
    ]) {
        test(`background with ${JSON.stringify(more)}`, async () => {
            refused(await ask(both.daemon, { ...REQUEST, ...more }), JSON.stringify(more), ...error);
            assert.equal(both.up.requests.length, 0);
        });
    }

    for (const stream of [false, true]) {
        test(`what no work can be begun with is refused at once, stream=${stream}`, async () => {
            const input = [{ type: 'function_call_output', call_id: 'call_x', output: '1' }];
            const got = await ask(both.daemon, { ...REQUEST, stream, input, previous_response_id: id });
            refused(got, `orphan-${stream}`, 400, 'invalid_value', 'input');
            assert.equal(both.up.requests.length, 0);
        });
    }

    test('another method on what is read', async () => {
        const got = await ask(both.daemon, {}, { method: 'PUT', path: `/v1/responses/${id}?stream=true` });
        refused(got, 'put', 405, 'method_not_allowed');
    });

    test('cursors at and beyond the end: nothing, or what follows', async () => {
        const whole = await tail(both.daemon, id);
        const last = checkStream(whole).events.length - 1;
        for (const after of [last, last + 1, 1000, 4294967296, Number.MAX_SAFE_INTEGER, '9223372036854775807', '99999999999999999999999999'])
            assert.equal(await tail(both.daemon, id, after), 'data: [DONE]\n\n', String(after));
        let release;
        const gate = new Promise((done) => (release = done));
        both.up.next(stream([...frames(chunk({ content: 'one' })), gate, ...frames(chunk({}, 'stop'), '[DONE]')]));
        const running = await accepted(both.daemon, {}, captures);
        const first = resume(both.daemon, running.id);
        await first.until('"delta":"one"');
        const beyond = resume(both.daemon, running.id, { after: 1000 });
        const next = resume(both.daemon, running.id, { after: 7 });
        await Promise.all([beyond.head, next.head]);
        release();
        const text = (await first.done).text;
        checkTail((await next.done).text, 7, text);
        assert.equal((await beyond.done).text, 'data: [DONE]\n\n');
    });

    for (const how of ['cancelled', 'deleted']) {
        test(`${how} while somebody reads, and before somebody reads on`, async () => {
            both.up.next(STARTED);
            const { id: running } = await accepted(both.daemon, {}, captures);
            const reader = resume(both.daemon, running, { after: 2 });
            await reader.until('"delta":" two"');
            if (how === 'cancelled')
                checkShown(await cancel(both.daemon, running));
            else
                await ask(both.daemon, undefined, { method: 'DELETE', path: `/v1/responses/${running}` });
            await both.up.requests[0].closed;
            await reader.done.catch(() => {});
            const again = await resume(both.daemon, running, { after: 2 }).done;
            if (how === 'deleted')
                return void refused(again, 'deleted in between', 404, 'not_found');
            checkTail(again.text, 2, await tail(both.daemon, running));
            assert.deepEqual(again.text, reader.text);
        });
    }
});

/* ---- events that are not kept ---- */

describe('events that are not kept', { concurrency: false }, () => {
    const NOT_KEPT = [400, 'invalid_value', 'stream'];

    /* The object is there all the same. */
    async function checkNotKept(daemon, id) {
        for (const after of [undefined, 3])
            refused(await resume(daemon, id, { after }).done, 'not kept', ...NOT_KEPT);
        assert.equal((await get(daemon, `/v1/responses/${id}`)).json.status, 'completed');
    }

    test('resumable=background keeps those of background responses alone', async (t) => {
        const { daemon } = await pair(t, '--resumable', 'background');
        const id = idOf((await ask(daemon, { model: 'm', input: 'Hi', stream: true })).text);
        await checkNotKept(daemon, id);
        const { id: other } = await accepted(daemon, {}, captures);
        await ended(daemon, other, captures);
        checkStream(await tail(daemon, other));
    });

    test('resumable=background: a response in the foreground cannot be joined', async (t) => {
        const { up, daemon } = await pair(t, '--resumable', 'background');
        up.next(STARTED);
        const call = open(daemon, { model: 'm', input: 'Hi', stream: true });
        await call.until('"delta":" two"');
        const got = await resume(daemon, idOf(call.text)).done;
        assert.ok(got.status === 400 || got.status === 404, got.text);
        call.destroy();
    });

    test('events_max: the oldest go first, the objects stay', async (t) => {
        const { up, daemon } = await pair(t, '--events-max', '4KiB');
        up.always(() => textStream(Array.from({ length: 300 }, (_, i) => `${'w'.repeat(1 + i % 9)} `).join('')));
        const ids = [];
        for (let i = 0; i < 40; i++)
            ids.push(idOf((await ask(daemon, { model: 'm', input: 'Hi', stream: true })).text));
        for (const deadline = performance.now() + patience(20_000); (await resume(daemon, ids[0]).done).status === 200; await pause(100))
            assert.ok(performance.now() < deadline, 'those of the first are gone');
        await checkNotKept(daemon, ids[0]);
        checkStream(await tail(daemon, ids.at(-1)));
    });

    test('events_max_age', async (t) => {
        const { daemon } = await pair(t, '--events-max-age', '1s');
        const id = idOf((await ask(daemon, { model: 'm', input: 'Hi', stream: true })).text);
        for (const deadline = performance.now() + patience(90_000); (await resume(daemon, id).done).status === 200; await pause(200))
            assert.ok(performance.now() < deadline, 'they are gone');
        await checkNotKept(daemon, id);
    });

    test('events_per_response: from then on deltas are longer, and the stream is whole', async (t) => {
        const { up, daemon } = await pair(t, '--events-per-response', '40');
        const text = Array.from({ length: 2000 }, (_, i) => `word ${i} `).join('');
        up.next(textStream(text));
        const { id } = await accepted(daemon, {}, captures);
        await ended(daemon, id, captures);
        const whole = await tail(daemon, id);
        captures.keep('merged.sse', whole);
        const { response, events } = checkStream(whole);
        assert.equal(response.output[0].content[0].text, text);
        const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => Buffer.byteLength(delta));
        assert.ok(deltas.length < 40 + Buffer.byteLength(text) / 1024 + 2, `${deltas.length} deltas`);
        checkTail(await tail(daemon, id, 45), 45, whole);
    });

    test('of a response of somebody else, or of none', async (t) => {
        const { daemon } = await pair(t);
        const { json: { id } } = await ask(daemon, { model: 'm', input: 'Hi' });
        refused(await resume(daemon, strange(id)).done, 'strange', 404, 'not_found');
        const { json: { id: unkept } } = await ask(daemon, { model: 'm', input: 'Hi', store: false });
        refused(await resume(daemon, unkept).done, 'not stored', 404, 'not_found');
    });
});

/* ---- a store that fails ---- */

const MIB = 1024 * 1024;

/* A folder on a disk of so many bytes, or the reason why there is none. */
function smallDisk(t, bytes) {
    if (process.getuid() !== 0)
        return { reason: 'only root may mount a file system' };
    let dir;
    t.after(() => dir && spawnSync('umount', ['-l', dir])); /* before the folder goes */
    const place = folder(t, 'disk');
    mkdirSync(place);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', place]).status !== 0)
        return { reason: 'no file system may be mounted here' };
    dir = place;
    return { dir };
}

function fillUp(dir) {
    const fd = openSync(join(dir, 'filler'), 'a');
    for (const size of [MIB, 4096, 1]) {
        try {
            while (writeSync(fd, Buffer.alloc(size)) === size)
                continue;
        } catch (error) {
            assert.equal(error.code, 'ENOSPC');
        }
    }
    closeSync(fd);
}

/* The soft limit on the size of files, of which the kernel tells by a signal. */
const limitFiles = (daemon, bytes) => execFileSync('prlimit', ['--pid', String(daemon.child.pid), `--fsize=${bytes}:unlimited`]);

/* Responses under way, one of them with a reader. */
async function atWork(daemon, up) {
    up.always(() => stream([...frames(chunk({ content: 'one' }), chunk({ content: ' two' })),
        ...Array.from({ length: 40 }, (_, i) => [5, ...frames(chunk({ content: ` ${i} ${'x'.repeat(500)}` }))]).flat(), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const jobs = [];
    for (let i = 0; i < 4; i++)
        jobs.push(await accepted(daemon, {}, captures));
    const reader = resume(daemon, jobs[0].id);
    await reader.until('"delta":" two"');
    return { jobs, reader };
}

/* Whether it works again: what was under way has ended, new work is done. */
async function checkRecovery(daemon, up, { jobs, reader }) {
    await untilReady(daemon, 200);
    await reader.done.catch(() => {});
    for (const { id } of jobs) {
        const response = await ended(daemon, id, captures, 60_000);
        assert.ok(['completed', 'failed'].includes(response.status), response.status);
        const text = await tail(daemon, id);
        captures.keep('after the trouble.sse', text);
        assert.deepEqual(checkStream(text).response.output, response.output);
    }
    up.always(textStream('Hello'));
    const { id } = await accepted(daemon, {}, captures);
    assert.equal((await ended(daemon, id, captures)).status, 'completed');
}

describe('the store fails while work runs', { concurrency: false, timeout: patience(240_000) }, () => {
    const start = async (t, store, ...args) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', store, '--store-timeout', '1s', '--background-lease', '1s', '--conversation-lock', '1s', ...args] });
        t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
        return { up, daemon };
    };

    /* Nothing is accepted that cannot be stored, whatever store_failure says. The first to meet a disk's trouble hears
     * of that. */
    async function checkRefusal(daemon) {
        for (const streamed of [false, true]) {
            const got = await ask(daemon, { ...REQUEST, stream: streamed });
            refused(got, 'store away', got.status === 500 && got.text.includes('disk') ? 500 : 503);
        }
    }

    for (const failure of ['fail', 'continue']) {
        test(`SQLite's files may not grow, store_failure=${failure}: no work is accepted, what runs ends, and all is well later`, async (t) => {
            const { up, daemon } = await start(t, `sqlite:${folder(t, 'antiphon.db')}`, '--store-failure', failure);
            const work = await atWork(daemon, up);
            limitFiles(daemon, 1);
            await checkRefusal(daemon);
            await pause(1500);
            limitFiles(daemon, 'unlimited');
            await checkRecovery(daemon, up, work);
            await daemon.stop();
        });
    }

    test('a disk that is full in the middle', async (t) => {
        const { dir, reason } = smallDisk(t, 8 * MIB);
        if (reason)
            return t.skip(reason);
        const { up, daemon } = await start(t, `sqlite:${join(dir, 'antiphon.db')}`);
        const work = await atWork(daemon, up);
        fillUp(dir);
        await pause(1500);
        fillUp(dir);
        for (const { id } of work.jobs) {
            const got = await get(daemon, `/v1/responses/${id}`);
            assert.ok(got.status === 200 || got.status >= 500, got.text);
        }
        rmSync(join(dir, 'filler'));
        await checkRecovery(daemon, up, work);
        await daemon.stop();
    });

    for (const [how, leave] of [['stopped', (server) => server.stop()], ['killed', (server) => server.kill()]]) {
        test(`PostgreSQL is ${how} while work runs, and comes back`, { skip: NO_POSTGRES }, async (t) => {
            const server = await startPostgres();
            t.after(() => server.close());
            const { up, daemon } = await start(t, await server.database());
            const work = await atWork(daemon, up);
            await leave(server);
            await checkRefusal(daemon);
            for (const path of [`/v1/responses/${work.jobs[1].id}?stream=true`, `/v1/responses/${work.jobs[1].id}/cancel`]) {
                const isCancel = path.endsWith('cancel');
                const got = await ask(daemon, undefined, { method: isCancel ? 'POST' : 'GET', path }).catch(() => ({ status: 0 }));
                assert.ok(got.status === 0 || got.status === 200 || got.status >= 500, `${path}: ${got.status} ${got.text}`);
            }
            await server.start();
            await checkRecovery(daemon, up, work);
            await daemon.stop();
        });
    }

    test('a gateway whose database stands still can be stopped, with work under way', { skip: NO_POSTGRES }, async (t) => {
        const server = await startPostgres();
        t.after(() => server.close());
        const { up, daemon } = await start(t, await server.database(), '--drain-timeout', '500ms');
        await atWork(daemon, up);
        await server.freeze();
        try {
            await daemon.stop({ ms: 20_000 });
        } finally {
            await server.thaw();
        }
    });
});

captures.judge(test);
