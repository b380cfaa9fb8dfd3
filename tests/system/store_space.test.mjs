/* store_space.test.mjs -- what a store removes is given back to the file system, also when that is full. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, ROOT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const MIB = 1024 * 1024;

const store = (...args) => spawnSync(BINARY, ['store', ...args], { encoding: 'utf8', timeout: patience(60_000), env: ENVIRONMENT });

function fine(...args) {
    const { status, stdout, stderr } = store(...args);
    assert.equal(status, 0, stderr);
    return stdout;
}

const sqlite = (file, text) => spawnSync('sqlite3', [file, text], { encoding: 'utf8' }).stdout.trim();

let up;
before(async () => { up = await startUpstream(); });
after(() => up?.close());

async function start(t, file, ...args) {
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', `sqlite:${file}`, '--store-timeout', '2s', ...args] });
    t.after(() => daemon.child.exitCode ?? daemon.child.signalCode ?? daemon.stop());
    return daemon;
}

const respond = (daemon, bytes) => ask(daemon, { input: 'x'.repeat(bytes), store: true });

async function fill(daemon, n, bytes) {
    for (let i = 0; i < n; i++) {
        const { status, text } = await respond(daemon, bytes);
        assert.equal(status, 200, text);
    }
}

async function until(what, seen) {
    for (const deadline = performance.now() + patience(60_000); !(await seen());) {
        assert.ok(performance.now() < deadline, what);
        await new Promise((done) => setTimeout(done, 50));
    }
}

describe('space', { concurrency: false }, () => {
    test('a file becomes shorter when store_max does', async (t) => {
        const file = folder(t, 'store.db');
        const first = await start(t, file);
        await fill(first, 60, 200_000);
        await first.stop();
        const full = statSync(file).size;
        assert.ok(full > 10 * MIB, `${full}`);
        const second = await start(t, file, '--store-max', '1MiB');
        await until('the file is short', () => statSync(file).size < 4 * MIB);
        await second.logged(/store_removed reason=bytes histories=\d+ responses=\d+ bytes=\d{7}/);
        await second.stop();
        assert.equal(sqlite(file, 'PRAGMA integrity_check'), 'ok');
        const { responses } = JSON.parse(fine('stats', '--json', '--store', `sqlite:${file}`));
        assert.ok(responses >= 4 && responses <= 5, `${responses}`);
    });

    test('a file of an earlier version is converted when a gateway starts', async (t) => {
        const file = folder(t, 'store.db');
        writeFileSync(file, gunzipSync(readFileSync(join(ROOT, 'tests/data/stores/1-last.db.gz'))));
        assert.equal(sqlite(file, 'PRAGMA auto_vacuum'), '0');
        const daemon = await start(t, file);
        await until('it is converted', () => sqlite(file, 'PRAGMA auto_vacuum') === '2');
        await daemon.stop();
        assert.doesNotMatch(daemon.log, /store_keeps_space/);
        assert.equal(sqlite(file, 'PRAGMA integrity_check'), 'ok');
    });

    test('antiphon store vacuum converts it as well', (t) => {
        const file = folder(t, 'store.db');
        writeFileSync(file, gunzipSync(readFileSync(join(ROOT, 'tests/data/stores/1-last.db.gz'))));
        fine('upgrade', '--store', `sqlite:${file}`);
        fine('vacuum', '--store', `sqlite:${file}`);
        assert.equal(sqlite(file, 'PRAGMA auto_vacuum'), '2');
        assert.equal(sqlite(file, 'PRAGMA integrity_check'), 'ok');
    });
});

/* ---- a disk of our own, which is small ---- */

const DISK_MIB = 24;

/* The folder of a new file system, gone when the test ends; nothing when that may not be made. */
function disk(t) {
    let dir;
    t.after(() => dir && spawnSync('umount', ['-l', dir])); /* before the folder goes */
    const place = folder(t, 'disk');
    mkdirSync(place);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', place]).status === 0)
        dir = place;
    return dir;
}

const NO_DISK = process.getuid() !== 0 && 'only root may mount a file system';

/* To the last byte. */
function fillUp(dir) {
    const fd = openSync(join(dir, 'filler'), 'a');
    for (const size of [MIB, 4096, 1]) {
        const bytes = Buffer.alloc(size);
        try {
            while (writeSync(fd, bytes) === size)
                continue;
        } catch (error) {
            assert.equal(error.code, 'ENOSPC');
        }
    }
    closeSync(fd);
}

describe('a full disk', { skip: NO_DISK, concurrency: false }, () => {
    for (const [what, end] of [
        ['beside the gateway', undefined],
        ['after the gateway has stopped', (daemon) => daemon.stop()],
        ['after the gateway was killed', (daemon) => daemon.child.kill('SIGKILL')],
    ]) {
        test(`store purge works ${what}`, async (t) => {
            const dir = disk(t);
            if (dir === undefined)
                return t.skip('no file system may be mounted here');
            const file = join(dir, 'store.db');
            const daemon = await start(t, file);
            await until('space is kept', () => existsSync(`${file}-reserve`));
            let n = 0;
            while ((await respond(daemon, 100_000)).status === 200)
                assert.ok(++n < 10 * DISK_MIB, 'the disk becomes full');
            assert.ok(n > 40, `${n}`);
            fillUp(dir);
            assert.notEqual((await respond(daemon, 100_000)).status, 200);
            if (end) {
                await end(daemon);
                await daemon.exited;
            }
            fillUp(dir);
            const told = fine('purge', '--store-max', '2MiB', '--store', `sqlite:${file}`);
            assert.match(told, /^removed \d+ histories; (19|20) are left/);
            const next = end ? await start(t, file) : daemon;
            await until('something can be stored', async () => (await respond(next, 100_000)).status === 200);
            await next.stop();
            assert.equal(sqlite(file, 'PRAGMA integrity_check'), 'ok');
        });
    }

    test('a gateway with store_max makes room by itself', async (t) => {
        const dir = disk(t);
        if (dir === undefined)
            return t.skip('no file system may be mounted here');
        const file = join(dir, 'store.db');
        const first = await start(t, file);
        while ((await respond(first, 100_000)).status === 200)
            continue;
        fillUp(dir);
        await first.stop();
        fillUp(dir);
        const second = await start(t, file, '--store-max', '2MiB');
        await until('something can be stored', async () => (await respond(second, 100_000)).status === 200);
        rmSync(join(dir, 'filler'));
        await until('space is kept again', () => existsSync(`${file}-reserve`));
        await until('the file is short', () => statSync(file).size < 6 * MIB);
        assert.equal((await get(second, '/health')).status, 200);
        await second.stop();
        assert.equal(sqlite(file, 'PRAGMA integrity_check'), 'ok');
    });
});
