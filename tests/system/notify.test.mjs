/* notify.test.mjs -- what a service manager is told (OPERATIONS 7.4), as systemd hears it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test from 'node:test';
import { get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { startNotify } from '../lib/notify.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

async function place(t, notify, { args = [], env = {} } = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', ...args], env: { NOTIFY_SOCKET: notify.path, ...env } });
    t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    return { up, daemon };
}

for (const [kind, path] of [['a path', undefined], ['an abstract socket', `@antiphon-test-${process.pid}`]]) {
    test(`ready, reloading and stopping are said, to ${kind}`, async (t) => {
        const notify = await startNotify(t, path);
        const { daemon } = await place(t, notify);
        const [, pid] = await notify.until(/^READY=1\nMAINPID=(\d+)$/);
        assert.equal(Number(pid), daemon.child.pid);
        assert.equal((await get(daemon, '/ready')).status, 200, 'it was ready then');
        daemon.child.kill('SIGHUP'); /* no file: without a service manager it would end */
        const [, first] = await notify.until(/^RELOADING=1\nMONOTONIC_USEC=(\d+)$/);
        await notify.until(/^READY=1$/);
        daemon.child.kill('SIGHUP');
        const [, second] = await notify.until(/^RELOADING=1\nMONOTONIC_USEC=(\d+)$/);
        assert.ok(Number(second) > Number(first));
        await notify.until(/^READY=1$/);
        await daemon.stop();
        await notify.until(/^STOPPING=1$/);
    });
}

test('what runs is said while it runs, and that the end takes longer', async (t) => {
    const notify = await startNotify(t);
    const { up, daemon } = await place(t, notify);
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    await notify.until(/^STATUS=Serving 1 stream, 1 of 1 upstreams up$/, 20_000);
    daemon.child.kill('SIGTERM');
    await notify.until(/^STOPPING=1$/);
    await notify.until(/^STATUS=Draining 1 stream, /, 20_000);
    await notify.until(/^EXTEND_TIMEOUT_USEC=\d+$/);
    release();
    assert.equal((await daemon.exited).code, 0);
});

test('a service manager that watches hears of loops that turn, unless it watches somebody else', async (t) => {
    const notify = await startNotify(t), other = await startNotify(t, folder(t, 'other'));
    const { daemon } = await place(t, notify, { env: { WATCHDOG_USEC: '100000' } });
    for (let i = 0; i < 5; i++)
        await notify.until(/^WATCHDOG=1$/);
    await daemon.stop();
    const { daemon: second } = await place(t, other, { env: { WATCHDOG_USEC: '100000', WATCHDOG_PID: '1' } });
    await other.until(/^STATUS=Serving/, 20_000);
    await second.stop();
    assert.ok(!other.said.includes('WATCHDOG=1'));
});

test('a worker that has ended is not taken for one that hangs, while another lets its stream end', async (t) => {
    const notify = await startNotify(t);
    const { up, daemon } = await place(t, notify, { args: ['--workers', '2'], env: { WATCHDOG_USEC: '100000' } });
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    daemon.child.kill('SIGTERM');
    await notify.until(/^STOPPING=1$/);
    for (let i = 0; i < 5; i++)
        await notify.until(/^WATCHDOG=1$/);
    release();
    assert.equal((await daemon.exited).code, 0);
});

test('a gateway that does not start is never ready', async (t) => {
    const notify = await startNotify(t), config = folder(t, 'store');
    writeFileSync(config, 'this is no database, but a text that is long enough to be one');
    await assert.rejects(place(t, notify, { args: ['--store', `sqlite:${config}`] }));
    await notify.until(/^STATUS=Starting$/);
    assert.ok(!notify.said.some((line) => line.includes('READY')));
});

test('a NOTIFY_SOCKET that is of no use is told, and does not matter', async (t) => {
    const { daemon } = await place(t, { path: 'vsock:1:2' });
    await daemon.logged(/warn .*NOTIFY_SOCKET is neither a path nor an abstract socket/);
    await daemon.stop();
});
