/* store_wait.test.mjs -- a PostgreSQL server that comes up after the gateway (OPERATIONS 7.1). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import test, { after, before, describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, launchDaemon } from '../lib/daemon.mjs';
import { freePort } from '../lib/free_port.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, PASSWORD, startPostgres } from '../lib/postgres.mjs';
import { startUpstream } from '../lib/upstream.mjs';

/* A gateway that is not expected to listen. */
function startAlone(t, store, ...args) {
    const child = spawn(BINARY, ['serve', ...args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'], '--code-interpreter', 'off', '--store', store, ...args], { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    const gateway = { child, log: '', exited: once(child, 'close').then(([code, signal]) => ({ code, signal })) };
    child.stderr.setEncoding('utf8').on('data', (text) => (gateway.log += text));
    gateway.logged = async (pattern) => {
        for (const deadline = performance.now() + patience(20_000); !pattern.test(gateway.log); await new Promise((done) => setTimeout(done, 10)))
            assert.ok(performance.now() < deadline && child.exitCode === null, `never logged ${pattern}:\n${gateway.log}`);
    };
    return gateway;
}

/* A port where nobody listens. */
async function nobody() {
    return `postgres://antiphon:SECRET@127.0.0.1:${await freePort()}/db`;
}

test('a server that does not come is given up after store_start_timeout, with the reason', async (t) => {
    const gateway = startAlone(t, await nobody(), '--store-start-timeout', '1s');
    const { code, signal } = await gateway.exited;
    assert.deepEqual({ code, signal }, { code: 1, signal: null });
    assert.match(gateway.log, /warn .*waiting for the store.*reason=.*refused.*seconds_left=\d/s);
    assert.match(gateway.log, /error .*The store cannot be reached.*refused/);
    assert.doesNotMatch(gateway.log, /SECRET|listening/);
});

/* Nobody could answer them: a balancer is to see that. */
test('clients are refused while a server is waited for, and an address that is taken is told at once', async (t) => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const listen = ['--listen', `127.0.0.1:${taken.address().port}`];
    const loser = startAlone(t, await nobody(), ...listen);
    assert.deepEqual(await loser.exited, { code: 1, signal: null });
    assert.doesNotMatch(loser.log, /waiting/);
    taken.close();
    await once(taken, 'close');
    const gateway = startAlone(t, await nobody(), ...listen);
    await gateway.logged(/waiting for the store/);
    const [error] = await once(net.connect(Number(listen[1].split(':')[1]), '127.0.0.1'), 'error');
    assert.equal(error.code, 'ECONNREFUSED');
    gateway.child.kill('SIGTERM');
    await gateway.exited;
});

for (const signal of ['SIGTERM', 'SIGINT']) {
    test(`${signal} is obeyed while a server is waited for`, async (t) => {
        const gateway = startAlone(t, await nobody());
        await gateway.logged(/waiting for the store/);
        gateway.child.kill(signal);
        assert.deepEqual(await gateway.exited, { code: 0, signal: null });
        assert.match(gateway.log, /stopping signal=\d+/);
        assert.match(gateway.log, /stopped/);
    });
}

test('SIGTERM is obeyed while a server says nothing', async (t) => {
    const silent = net.createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const met = once(silent, 'connection');
    const gateway = startAlone(t, `postgres://antiphon:SECRET@127.0.0.1:${silent.address().port}/db`, '--store-timeout', '1000s');
    const [socket] = await met;
    t.after(() => socket.destroy());
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, { code: 0, signal: null });
});

describe('a PostgreSQL', { skip: NO_POSTGRES, concurrency: false }, () => {
    let server;

    before(async () => {
        server = await startPostgres();
    });
    after(() => server?.close());

    test('that is started after the gateway is waited for, and used', async (t) => {
        const store = await server.database();
        await server.stop();
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = launchDaemon({ upstream: up.url, args: ['--model', 'm', '--store', store] });
        await daemon.logged(/waiting for the store/);
        await server.start();
        await daemon.ready();
        assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
        await daemon.stop();
    });

    for (const [what, change, words] of [
        ['refuses the password', (url) => url.replace(PASSWORD, 'SECRET'), /password authentication failed/],
        ['has no such database', (url) => url.replace(/[^/]*$/, 'nowhere'), /nowhere.* does not exist/],
    ]) {
        test(`that ${what} is not waited for`, async (t) => {
            const gateway = startAlone(t, change(server.url()), '--store-start-timeout', '1000h');
            assert.deepEqual(await gateway.exited, { code: 1, signal: null });
            assert.match(gateway.log, words);
            assert.doesNotMatch(gateway.log, /waiting for the store|SECRET/);
        });
    }
});
