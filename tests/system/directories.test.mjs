/* directories.test.mjs -- directories that a service manager makes (OPERATIONS 7.4): STATE_DIRECTORY for the
 * store, RUNTIME_DIRECTORY for sockets, CREDENTIALS_DIRECTORY for files with secrets. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, launchDaemon, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';

const lineOf = (name, key) =>
    spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, timeout: patience(10_000), env: ENVIRONMENT }).stdout;

function directory(t, name) {
    const path = folder(t, name);
    mkdirSync(path, { mode: 0o700 });
    return path;
}

async function refused(env, ...args) {
    const daemon = launchDaemon({ args, env });
    const { code } = await daemon.exited;
    return { code, log: daemon.log };
}

test('store, socket and keys are where the service manager says', async (t) => {
    const state = directory(t, 'state'), runtime = directory(t, 'run'), credentials = directory(t, 'credentials');
    writeFileSync(join(credentials, 'clients'), lineOf('alice', 'sk-alice'), { mode: 0o400 });
    const daemon = await startDaemon({
        args: ['--listen', 'unix:api.sock', '--api-keys-file', 'credential:clients'],
        env: { ANTIPHON_STORE: '', STATE_DIRECTORY: state, RUNTIME_DIRECTORY: `${runtime}:${dirname(runtime)}`, CREDENTIALS_DIRECTORY: credentials },
    });
    t.after(() => daemon.stop());
    const how = { socketPath: join(runtime, 'api.sock'), headers: { authorization: 'Bearer sk-alice' } };
    assert.equal((await ask(daemon, { input: 'Hi', model: 'demo' }, how)).status, 200);
    assert.equal((await get(daemon, '/v1/models', { ...how, headers: {} })).status, 401);
    assert.ok(existsSync(join(state, 'antiphon.db')));
});

test('a directory that is not there, and a name that leads out of it, are told', async (t) => {
    const credentials = directory(t, 'credentials');
    for (const [args, env, why] of [
        [['--api-keys-file', 'credential:clients'], {}, /--api-keys-file: credential:NAME is a file in CREDENTIALS_DIRECTORY, which is not set/],
        [['--api-keys-file', 'credential:../clients'], { CREDENTIALS_DIRECTORY: credentials }, /--api-keys-file: credential:NAME takes the name of a file/],
        [['--api-keys-file', 'credential:'], { CREDENTIALS_DIRECTORY: credentials }, /credential:NAME takes the name of a file/],
        [['--api-keys-file', 'credential:gone'], { CREDENTIALS_DIRECTORY: credentials }, /gone: cannot be opened/],
        [['--listen', 'unix:api.sock'], {}, /--listen: unix:NAME is a socket in RUNTIME_DIRECTORY, which is not set/],
        [['--listen', 'unix:run/api.sock'], { RUNTIME_DIRECTORY: credentials }, /--listen/],
    ]) {
        const { code, log } = await refused(env, ...args);
        assert.equal(code, 2, log);
        assert.match(log, why);
    }
});
