/* store_file.test.mjs -- the file of a SQLite store: what a clean stop leaves of it, and what happens
 * when somebody takes it away.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import test, { describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { untilReady } from '../lib/ready.mjs';
import { Talks } from '../lib/talks.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const captures = new Captures();

async function place(t, ...args) {
    const path = folder(t, 'antiphon.db');
    const up = await startUpstream();
    t.after(() => up.close());
    const talks = new Talks(up);
    const start = async () => {
        const daemon = await startDaemon({ upstream: up.url, args: ['--store', `sqlite:${path}`, '--model', 'm', ...args] });
        t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
        return daemon;
    };
    return { path, up, talks, start };
}

/* Beside the reserve, which is there for a disk that is full, and what texts are sealed with. */
const filesIn = (folder) => readdirSync(folder).filter((name) => !/-(reserve|key)$/.test(name));

test('a clean stop leaves one file, also when all connections were at work', async (t) => {
    const { path, talks, start } = await place(t, '--workers', '4', '--store-connections', '8');
    for (let round = 0; round < 60; round++) {
        const daemon = await start();
        const turns = await Promise.all(Array.from({ length: 16 }, () => talks.ask(daemon)));
        await Promise.all(turns.flatMap(({ id }) => Array(4).fill(id)).map((id) => get(daemon, `/v1/responses/${id}`)));
        await daemon.stop();
        assert.deepEqual(filesIn(dirname(path)), ['antiphon.db'], `round ${round}`);
    }
    const daemon = await start();
    await talks.inspect(daemon);
    await daemon.stop();
});

/* [what is done to the files, how it is undone, or null when that is not to be] */
const MOVED = [
    ['moved away', (path) => renameSync(path, `${path}.away`), (path) => renameSync(`${path}.away`, path)],
    ['deleted', (path) => rmSync(path), null],
    ['replaced by another one', (path) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(path, `${path}.mine`);
        renameSync(`${path}.copy`, path);
    }, (path) => renameSync(`${path}.mine`, path)],
    ['left without its log', (path) => rmSync(`${path}-wal`), null],
];

describe('while the gateway runs', { concurrency: false }, () => {
    for (const [what, leave, comeBack] of MOVED) {
        test(`a file that is ${what} is noticed: nothing more is acknowledged, nothing stored is lost`, async (t) => {
            const { path, up, talks, start } = await place(t);
            const daemon = await start();
            const first = await talks.ask(daemon);
            await untilReady(daemon, 200);
            leave(path);
            assert.deepEqual((await untilReady(daemon, 503)).reasons, ['store'], 'also when nobody stores anything');
            await daemon.logged(/ error store_failed reason="The store's .*file was (deleted|replaced).*(R|r)estart/);
            const asked = up.served;
            for (const body of [{}, { stream: true }, { previous_response_id: first.id }]) {
                const got = await ask(daemon, { input: 'Hi', ...body });
                captures.keep(`${what}.json`, got.bytes, '--kind', 'error');
                checkError(got, 503, 'server_is_overloaded');
                assert.equal(got.headers['retry-after'], '1');
            }
            assert.equal(up.served, asked, 'the model was not asked');
            assert.equal((await get(daemon, `/v1/responses/${first.id}`)).status, 200, 'what is stored can be read');
            if (comeBack === null) {
                await daemon.stop();
                return;
            }
            comeBack(path);
            await untilReady(daemon, 200);
            assert.equal((await talks.ask(daemon, { parent: first })).fate, 'stored');
            await daemon.stop();
            const next = await start();
            await talks.inspect(next);
            await next.stop();
        });
    }

    test('a file is not made anew by itself, and not by those that read it', async (t) => {
        const { path, talks, start } = await place(t, '--store-connections', '8');
        const daemon = await start();
        const first = await talks.ask(daemon);
        rmSync(path);
        await untilReady(daemon, 503);
        await Promise.all(Array.from({ length: 32 }, () => get(daemon, `/v1/responses/${first.id}`)));
        assert.ok(!existsSync(path));
        await daemon.stop();
        assert.ok(!existsSync(path));
    });

    test('a gateway without its log has all that it stored in the database when it has noticed', async (t) => {
        const { path, talks, start } = await place(t);
        const daemon = await start();
        await Promise.all(Array.from({ length: 8 }, () => talks.ask(daemon)));
        rmSync(`${path}-wal`);
        await untilReady(daemon, 503);
        daemon.child.kill('SIGKILL');
        await daemon.exited;
        const next = await start();
        await talks.inspect(next);
        await next.stop();
    });
});

captures.judge(test);
