/* store_faults.test.mjs -- a store that cannot be used, or not any more: no space,
 * no permission, something else in its place, nobody at the address.
 *
 * At start that ends the gateway with a message that names the store. Later it
 * ends requests with an error, the gateway lives, and goes on when the trouble
 * is over; with store_failure=continue only what needs the store fails.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { Captures, checkError, checkStream, readingOf } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { untilReady } from '../lib/ready.mjs';
import { Talks } from '../lib/talks.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const captures = new Captures();

const MIB = 1024 * 1024;

async function prepare(t, store, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--store', store, '--model', 'm', '--store-timeout', '1s', ...args] });
    t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    return { up, daemon, talks: new Talks(up) };
}

/* ---- at start */

/* For root nothing is read-only, unless it has lost its privileges. */
const WITHOUT_PRIVILEGES = process.getuid() === 0 ? ['setpriv', '--inh-caps=-all', '--bounding-set=-all'] : [];

/* What a gateway that must not start says. */
function refused(store, ...args) {
    const [program, ...rest] = [...WITHOUT_PRIVILEGES, BINARY, 'serve', '--listen', '127.0.0.1:0', '--store-start-timeout', '0', '--store', store, ...args];
    const { status, signal, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: ENVIRONMENT, timeout: patience(15_000) });
    assert.equal(signal, null, `it ends by itself:\n${stderr}`);
    assert.ok(status > 0, `status ${status}:\n${stderr}`);
    assert.doesNotMatch(stderr, /listening address/);
    return stderr;
}

/* A database that was used before, its gateway gone. */
async function usedDatabase(t) {
    const path = folder(t, 'antiphon.db');
    const { daemon, talks } = await prepare(t, `sqlite:${path}`);
    await talks.ask(daemon);
    await daemon.stop();
    return path;
}

describe('at start', { concurrency: false }, () => {
    for (const [what, bytes] of [
        ['random bytes', Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 251))],
        ['text', Buffer.from('This is a letter to my aunt.\n')],
    ]) {
        test(`${what} in place of the database are refused and left alone`, (t) => {
            const path = folder(t, 'antiphon.db');
            writeFileSync(path, bytes);
            assert.match(refused(`sqlite:${path}`), new RegExp(`${path}.*database: `, 's'));
            assert.deepEqual(readFileSync(path), bytes);
        });
    }

    test('a database with a damaged beginning is refused and left alone', async (t) => {
        const path = await usedDatabase(t);
        const bytes = readFileSync(path);
        bytes.fill('garbage!', 0, 4096);
        writeFileSync(path, bytes);
        assert.match(refused(`sqlite:${path}`), new RegExp(path));
        assert.deepEqual(readFileSync(path), bytes);
    });

    test('a database of a later version is refused', async (t) => {
        const path = await usedDatabase(t);
        execFileSync('sqlite3', [path, 'UPDATE meta SET schema_version = schema_version + 1, compatible_from = schema_version + 1']);
        assert.match(refused(`sqlite:${path}`), /tables have version 5 and want a program that knows 5, this one knows 4/);
        for (const args of [['serve', '--listen', '127.0.0.1:0'], ['store', 'stats']])
            assert.equal(spawnSync(BINARY, [...args, '--store', `sqlite:${path}`], { env: ENVIRONMENT, timeout: patience(15_000) }).status, 3);
    });

    test('a database that may not be written is refused', async (t) => {
        const path = await usedDatabase(t);
        chmodSync(path, 0o444);
        assert.match(refused(`sqlite:${path}`), new RegExp(`${path}.*(readonly|read-only|permission)`, 'si'));
    });

    test('a folder that may not be written is refused', (t) => {
        const path = folder(t, 'antiphon.db');
        chmodSync(join(path, '..'), 0o555);
        assert.match(refused(`sqlite:${path}`), new RegExp(path));
    });

    test('a folder that does not exist is refused', (t) => {
        const path = folder(t, 'missing/antiphon.db');
        assert.match(refused(`sqlite:${path}`), new RegExp(path));
    });

    /* The binary may be where only its owner can go. */
    const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const NO_OTHER_USER = process.getuid() !== 0 ? 'only root can become another user'
        : spawnSync(AS_NOBODY[0], [...AS_NOBODY.slice(1), 'test', '-x', BINARY]).status !== 0 && 'another user cannot run the gateway where it is';

    test('a database and a folder of another user: told whose they are, and who the gateway is', { skip: NO_OTHER_USER }, async (t) => {
        const path = await usedDatabase(t);
        const refusedNobody = () => {
            const [program, ...rest] = [...AS_NOBODY, BINARY, 'serve', '--listen', '127.0.0.1:0', '--store', `sqlite:${path}`];
            const { status, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: ENVIRONMENT, timeout: patience(15_000) });
            assert.ok(status > 0, stderr);
            return stderr;
        };
        assert.match(refusedNobody(), new RegExp(`${path}.*(permissions of a folder above).*uid 65534`, 's'));
        chmodSync(join(path, '..'), 0o755);
        assert.match(refusedNobody(), new RegExp(`${path}.*belongs to user .*uid 0.*mode 0600.*uid 65534.*chown`, 's'));
        chmodSync(path, 0o666);
        assert.match(refusedNobody(), new RegExp(`${path}.*mode 0755.*folder.*uid 0.*uid 65534.*making files`, 's'));
    });

    test('a file system that is mounted read-only is named as that', async (t) => {
        const { dir, reason } = smallDisk(t, 4 * MIB);
        if (reason)
            return t.skip(reason);
        execFileSync('mount', ['-o', 'remount,ro', dir]);
        assert.match(refused(`sqlite:${join(dir, 'antiphon.db')}`), new RegExp(`${dir}.*read-only`, 's'));
    });

    test('a disk that is full at start is named as that', async (t) => {
        const { dir, reason } = smallDisk(t, MIB);
        if (reason)
            return t.skip(reason);
        fill(join(dir, 'filler'));
        assert.match(refused(`sqlite:${join(dir, 'antiphon.db')}`), new RegExp(`${dir}.*full`, 's'));
    });

    test('a PostgreSQL that nobody runs is named, without the password', async () => {
        const port = await freePort();
        const said = refused(`postgres://antiphon:SECRET@127.0.0.1:${port}/db`);
        assert.match(said, new RegExp(`127\\.0\\.0\\.1.*${port}`, 's'));
        assert.doesNotMatch(said, /SECRET/);
    });

    test('a PostgreSQL that takes connections and says nothing is given up after store_timeout', async (t) => {
        const silent = net.createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
        await once(silent, 'listening');
        t.after(() => silent.close());
        assert.match(refused(`postgres://antiphon:SECRET@127.0.0.1:${silent.address().port}/db`, '--store-timeout', '500ms'), /time/i);
    });

    test('a PostgreSQL that wants another password says so', { skip: NO_POSTGRES }, async (t) => {
        const server = await startPostgres();
        t.after(() => server.close());
        const said = refused(server.url().replace(/:[^:@/]+@/, ':SECRET@'));
        assert.match(said, /password authentication failed/);
        assert.doesNotMatch(said, /SECRET/);
    });
});

/* ---- later */

/* Errors while nothing can be written, in every form; what is there can be read. The first
 * request meets the trouble when the model has answered, the others not even the model. */
async function checkTrouble(up, daemon, talks, first, name) {
    const streamed = await ask(daemon, { input: 'Hi', stream: true });
    captures.keep(`${name}.sse`, streamed.bytes);
    const { response } = checkStream(streamed.text);
    assert.equal(response.status, 'failed');
    assert.equal(response.error.code, 'server_error');
    await untilReady(daemon, 503);
    const asked = up.served;
    for (const [i, body] of [{}, { stream: true }, { store: true, previous_response_id: first.id }].entries()) {
        const refused = await ask(daemon, { input: 'Hi', ...body });
        captures.keep(`${name} ${i}.json`, refused.bytes, '--kind', 'error');
        checkError(refused, 503, 'server_is_overloaded');
        assert.equal(refused.headers['retry-after'], '1');
        assert.match(refused.json.error.message, /store/i);
    }
    checkError(await ask(daemon, {}, { path: '/v1/conversations' }), 503, 'server_is_overloaded');
    assert.equal(up.served, asked, 'the model was not asked in vain');
    assert.equal((await ask(daemon, { input: 'Hi', store: false, previous_response_id: first.id })).status, 200, 'what is only read is read');
    await talks.check(daemon, first);
    assert.equal((await ask(daemon, { input: 'Hi', store: false })).status, 200, 'what needs no store is served');
    assert.equal((await get(daemon, '/health')).status, 200);
}

async function checkRecovery(daemon, talks) {
    await untilReady(daemon, 200);
    const after = await talks.ask(daemon, { parent: talks.stored[0] });
    assert.equal(after.fate, 'stored', after.call.text);
    await talks.inspect(daemon);
    await daemon.stop();
}

/* A file system of our own with so many bytes, or a reason why there is none. */
function smallDisk(t, bytes) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir], { encoding: 'utf8' });
    t.after(() => {
        spawnSync('umount', ['-l', dir]);
        rmSync(dir, { recursive: true });
    });
    return status === 0 ? { dir } : { reason: `cannot mount a small file system: ${stderr ?? 'no mount'}` };
}

/* Takes all of the space that is left. */
function fill(path) {
    const file = openSync(path, 'w');
    try {
        for (const page = Buffer.alloc(4096); ;)
            writeSync(file, page);
    } catch (error) {
        assert.equal(error.code, 'ENOSPC');
    } finally {
        closeSync(file);
    }
}

test('the disk is full: requests fail, the rest can be read, and all is well when there is space again', async (t) => {
    const { dir, reason } = smallDisk(t, 4 * MIB);
    if (reason)
        return t.skip(reason);
    const path = join(dir, 'antiphon.db');
    const { up, daemon, talks } = await prepare(t, `sqlite:${path}`);
    const first = await talks.ask(daemon);
    fill(join(dir, 'filler'));
    await checkTrouble(up, daemon, talks, first, 'full');
    rmSync(join(dir, 'filler'));
    await checkRecovery(daemon, talks);
    assert.equal(execFileSync('sqlite3', [path, 'PRAGMA integrity_check'], { encoding: 'utf8' }).trim(), 'ok');
});

/* The soft limit on the size of files, of which the kernel tells by a signal. */
const limitFiles = (daemon, bytes) => execFileSync('prlimit', ['--pid', String(daemon.child.pid), `--fsize=${bytes}:unlimited`]);

test('files may not grow: no signal ends the gateway, requests fail, and all is well when they may again', async (t) => {
    const { up, daemon, talks } = await prepare(t, `sqlite:${folder(t, 'antiphon.db')}`);
    const first = await talks.ask(daemon);
    limitFiles(daemon, 1);
    await checkTrouble(up, daemon, talks, first, 'limited');
    limitFiles(daemon, 'unlimited');
    await checkRecovery(daemon, talks);
});

test('store_failure=continue: the client gets its answer, the log a warning, and the response is not kept', async (t) => {
    const { daemon, talks } = await prepare(t, `sqlite:${folder(t, 'antiphon.db')}`, '--store-failure', 'continue');
    const first = await talks.ask(daemon);
    limitFiles(daemon, 1);
    const plain = await ask(daemon, { input: 'Hi' });
    const streamed = await ask(daemon, { input: 'Hi', stream: true, previous_response_id: first.id });
    captures.keep('continued.json', plain.bytes);
    captures.keep('continued.sse', streamed.bytes);
    const answers = [plain.json, checkStream(streamed.text).response];
    await daemon.logged(/^\S+ warn .*stor/m);
    limitFiles(daemon, 'unlimited');
    for (const response of answers) {
        assert.equal(response.status, 'completed');
        assert.equal(readingOf(response).text, 'Hello');
        checkError(await get(daemon, `/v1/responses/${response.id}`), 404, 'not_found');
        checkError(await ask(daemon, { input: 'Hi', previous_response_id: response.id }), 400, 'previous_response_not_found');
    }
    await checkRecovery(daemon, talks);
});

test('store_failure=continue: a history that cannot be read is an error all the same', { skip: NO_POSTGRES }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    const { daemon, talks } = await prepare(t, await server.database(), '--store-failure', 'continue');
    const first = await talks.ask(daemon);
    await server.stop();
    const got = await ask(daemon, { input: 'Hi', previous_response_id: first.id });
    captures.keep('no history.json', got.bytes, '--kind', 'error');
    checkError(got, 500, 'server_error');
    assert.equal((await ask(daemon, { input: 'Hi' })).json.status, 'completed');
    await server.start();
    await checkRecovery(daemon, talks);
});

test('a gateway whose database stands still can be stopped', { skip: NO_POSTGRES }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    const { daemon, talks } = await prepare(t, await server.database());
    const first = await talks.ask(daemon);
    await server.freeze();
    try {
        open(daemon, { input: 'Hi', previous_response_id: first.id }); /* answered or not */
        await daemon.stop();
    } finally {
        await server.thaw();
    }
});

captures.judge(test);
