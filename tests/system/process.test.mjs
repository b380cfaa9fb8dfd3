/* process.test.mjs -- what the gateway is to the system that it runs on: signals, core dumps, the
 * groups of processes it leaves behind when it is killed. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';

test('SIGUSR1, which rotates logs elsewhere, ends nothing', async (t) => {
    const daemon = await startDaemon({ args: ['--log-level', 'debug'] });
    t.after(() => daemon.stop());
    daemon.child.kill('SIGUSR1');
    await daemon.logged(/ debug log_reopened$/m);
    assert.equal((await get(daemon, '/health')).status, 200);
});

/* Runs the gateway as somebody who may do little: its words. */
function asNobody(dir, ...args) {
    const binary = join(dir, 'antiphon');
    copyFileSync(BINARY, binary);
    chmodSync(binary, 0o755);
    chmodSync(dir, 0o777);
    const { status, stderr } = spawnSync(binary, ['serve', '--store', 'memory', '--code-interpreter', 'off', ...args],
        { encoding: 'utf8', timeout: patience(10_000), env: ENVIRONMENT, ...(process.getuid() === 0 && { uid: 65534, gid: 65534 }) });
    assert.ok(status > 0, `status ${status}`);
    return stderr;
}

test('errors at the start name the true cause: what its user may not do', (t) => {
    const dir = folder(t);
    const [file, closed] = [join(dir, 'file'), join(dir, 'closed')];
    writeFileSync(file, '{}', { mode: 0o000 });
    mkdirSync(closed, { mode: 0o700 });
    chmodSync(closed, 0o500);
    const nobody = (...args) => asNobody(dir, '--listen', '127.0.0.1:0', ...args);
    for (const flag of ['--config', '--api-keys-file'])
        assert.match(nobody(flag, file), /file: cannot be opened: Permission denied; the gateway's user needs the right to read it/);
    assert.match(nobody('--ca-file', file, '--upstream', 'https://127.0.0.1:1'), /--ca-file: the gateway's user may not read this file/);
    assert.match(nobody('--ca-file', dir, '--upstream', 'https://127.0.0.1:1'), /--ca-file: this is a directory/);
    assert.match(nobody('--listen', `unix:${closed}/s`), /Permission denied; the gateway's user may not write to its folder/);
});

/* The files of a process that may not be dumped belong to root, whoever it runs as. */
for (const [args, who] of [[[], 'root'], [['--core-dumps'], 'its user']]) {
    test(`with ${args[0] ?? 'nothing said'} its memory is shown to ${who}`, async (t) => {
        const uid = process.getuid() || 65534;
        const dir = folder(t);
        const [binary, socket] = [join(dir, 'antiphon'), join(dir, 'gateway.sock')];
        copyFileSync(BINARY, binary);
        chmodSync(binary, 0o755);
        chmodSync(dir, 0o777);
        const child = spawn(binary, ['serve', '--listen', `unix:${socket}`, '--store', 'memory', '--code-interpreter', 'off', ...args],
            { stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT, ...(process.getuid() === 0 && { uid, gid: 65534 }) });
        const exited = new Promise((done) => child.on('exit', done));
        t.after(() => child.kill('SIGKILL'));
        for await (const line of createInterface(child.stderr)) {
            if (/ listening /.test(line))
                break;
        }
        assert.equal(statSync(`/proc/${child.pid}/maps`).uid, who === 'root' ? 0 : uid);
        child.kill('SIGTERM');
        assert.equal(await exited, 0);
    });
}
