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

test('a clean stop leaves one file, also when all connections were at work', async (t) => {
    const { path, talks, start } = await place(t, '--workers', '4', '--store-connections', '8');
    for (let round = 0; round < 60; round++) {
        const daemon = await start();
        const turns = await Promise.all(Array.from({ length: 16 }, () => talks.ask(daemon)));
        await Promise.all(turns.flatMap(({ id }) => Array(4).fill(id)).map((id) => get(daemon, `/v1/responses/${id}`)));
        await daemon.stop();
        assert.deepEqual(readdirSync(dirname(path)), ['antiphon.db'], `round ${round}`);
    }
    const daemon = await start();
    await talks.inspect(daemon);
    await daemon.stop();
});

captures.judge(test);
