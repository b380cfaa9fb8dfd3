/* sockets_given.test.mjs -- a service manager passes sockets (OPERATIONS 7.4): they stand in place of
 * `listen`, their names say what they are for, and stay open while the gateway is started again. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { ask, get } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { startManaged } from '../lib/socket_manager.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const READY = / ready\n/g;
const at = (port) => ({ host: '127.0.0.1', port, origin: `http://127.0.0.1:${port}` });

async function place(t, sockets, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    const managed = await startManaged(t, sockets, '--upstream', up.url, '--model', 'm', ...args);
    await managed.until('log', READY);
    return { up, managed };
}

async function end(managed) {
    managed.child.kill('SIGTERM');
    assert.equal(await managed.exited, 0, managed.log);
    assert.doesNotMatch(managed.log, /Sanitizer|runtime error/);
}

test('sockets are served in place of listen: TCP and Unix, with and without names', async (t) => {
    const path = folder(t, 's');
    for (const names of [['api', 'local'], ['', '']]) {
        const socket = `${path}${names[0]}`;
        const { managed } = await place(t, [[names[0]], [names[1], socket]], '--workers', '2');
        assert.match(managed.log, new RegExp(`listening address=127.0.0.1:${managed.places[0]},unix:${socket}|listening address=127.0.0.1:${managed.places[0]} `));
        for (let i = 0; i < 20; i++) {
            assert.equal((await ask(at(managed.places[0]), { input: 'Hi' })).status, 200);
            assert.equal((await get(at(managed.places[0]), '/health', { socketPath: socket })).status, 200);
        }
        await end(managed);
        assert.ok(existsSync(socket), 'the file is not the gateway\'s');
    }
});

test('names say what sockets are for, and elements of listen say it as well', async (t) => {
    const { managed } = await place(t, [['api'], ['watch-admin'], ['other']], '--listen', 'fd:api,fd:watch-admin,fd:other+metrics');
    const [api, admin, metrics] = managed.places.map(at);
    assert.equal((await ask(api, { input: 'Hi' })).status, 200);
    for (const place of [admin, metrics]) {
        assert.equal((await get(place, '/ready')).status, 200);
        assert.equal((await get(place, '/v1/models')).status, 404);
    }
    await end(managed);
});

test('an element of listen that names no socket is told', async (t) => {
    const managed = await startManaged(t, [['api']], '--listen', 'fd:app');
    assert.equal(await managed.exited, 1);
    assert.match(managed.log, /listen fd:app: no socket of this name was passed/);
});

test('while the gateway is started again, nobody is refused', async (t) => {
    const { managed } = await place(t, [['api']], '--workers', '2', '--store', `sqlite:${folder(t, 'antiphon.db')}`);
    const api = at(managed.places[0]);
    let over = false, n = 0;
    const clients = Array.from({ length: 4 }, async () => {
        while (!over) {
            assert.equal((await ask(api, { input: 'Hi' })).status, 200);
            n++;
        }
    });
    for (let i = 2; i < 5; i++) {
        const before = n;
        managed.child.kill('SIGUSR1');
        await managed.until('log', READY, i);
        while (n < before + 20)
            await new Promise((done) => setTimeout(done, 5));
    }
    over = true;
    await Promise.all(clients);
    await end(managed);
});
