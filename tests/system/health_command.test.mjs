/* health_command.test.mjs -- `antiphon health`, `antiphon models` and `serve --check-config --probe`. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Authority } from '../lib/certs.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { command as run } from '../lib/doctor_command.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { json, startUpstream } from '../lib/upstream.mjs';

describe('antiphon health', () => {
    test('says what the gateway of the same configuration says', async (t) => {
        const socket = folder(t, 'api.sock');
        const daemon = await startDaemon({ args: ['--listen', `unix:${socket}`] });
        t.after(() => daemon.stop());
        for (const address of [`127.0.0.1:${daemon.port}`, `unix:${socket}`, `:${daemon.port}`]) {
            const { status, stdout, stderr } = await run(t, ['health'], { ANTIPHON_LISTEN: address });
            assert.equal(status, 0, stderr);
            assert.equal(JSON.parse(stdout).status, 'ready');
        }
    });

    test('asks listeners with TLS, and those of scrapers', async (t) => {
        const { cert, key } = new Authority(t).make('gateway', { san: 'DNS:ai.example.org' });
        const port = await freePort(), plain = await freePort();
        const tls = ['--tls-cert', cert, '--tls-key', key];
        const daemon = await startDaemon({ exact: true, args: ['--listen', `127.0.0.1:${port}+tls`, '--listen', `127.0.0.1:${plain}+metrics`, ...tls] });
        t.after(() => daemon.stop());
        for (const address of [`127.0.0.1:${port}+tls`, `127.0.0.1:${port}+proxy,127.0.0.1:${plain}+metrics`, `127.0.0.1:1+tls,127.0.0.1:${plain}+metrics`]) {
            const { status, stdout, stderr } = await run(t, ['health', '--listen', address, ...tls]);
            assert.equal(status, 0, stderr);
            assert.equal(JSON.parse(stdout).status, 'ready');
        }
    });

    test('is 1 while the gateway is not ready', async (t) => {
        const port = await freePort();
        const gone = `http://127.0.0.1:${await freePort()}`;
        const daemon = await startDaemon({ upstream: gone, exact: true, args: ['--listen', `127.0.0.1:${port}`, '--ready-needs', 'upstream'] });
        t.after(() => daemon.stop());
        await daemon.logged(/upstream/);
        const { status, stdout } = await run(t, ['health', '--listen', `127.0.0.1:${port}`]);
        assert.deepEqual([status, JSON.parse(stdout).status], [1, 'not_ready']);
    });

    test('is 1 with the reason where nobody answers', async (t) => {
        const { status, stdout, stderr } = await run(t, ['health', '--listen', `127.0.0.1:${await freePort()}`]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, /^antiphon: 127\.0\.0\.1:\d+: .+\n$/);
    });

    test('is 2 for an address that nobody can know, and for a wrong configuration', async (t) => {
        const nowhere = await run(t, ['health', '--listen', '127.0.0.1:0']);
        assert.equal(nowhere.status, 2);
        assert.match(nowhere.stderr, /port that is not 0/);
        const wrong = await run(t, ['health', '--listen', 'nonsense']);
        assert.equal(wrong.status, 2);
        assert.match(wrong.stderr, /--listen/);
    });

    test('has a help', async (t) => {
        const { status, stdout } = await run(t, ['health', '--help']);
        assert.deepEqual([status, stdout.includes('antiphon health [flags]')], [0, true]);
    });
});

describe('antiphon models', () => {
    const list = (...ids) => json(200, { object: 'list', data: ids.map((id) => ({ id, object: 'model' })) });

    test('prints names that clients may ask for', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.probed = ({ path, headers }) => path === '/v1/models' && headers.authorization === 'Bearer k' ? list('qwen3', 'glm', 'two\nlines') : json(401, {});
        const aliases = ['--model-alias', 'gpt-4o=qwen3,gone=llama,*=glm,glm=qwen3'];
        const { status, stdout, stderr } = await run(t, ['models', '--upstream', up.url, ...aliases], { ANTIPHON_UPSTREAM_KEY: 'k' });
        assert.equal(status, 0, stderr);
        assert.equal(stdout, 'qwen3\nglm\ngpt-4o\n');
        const refused = await run(t, ['models', '--upstream', up.url]);
        assert.deepEqual([refused.status, refused.stdout], [1, '']);
        assert.match(refused.stderr, /status 401/);
    });

    test('knows the demo, and says when nobody answers', async (t) => {
        assert.equal((await run(t, ['models'])).stdout, 'demo\n');
        const { status, stderr } = await run(t, ['models', '--upstream', `http://127.0.0.1:${await freePort()}`]);
        assert.equal(status, 1);
        assert.match(stderr, /^antiphon: upstream: /);
    });
});

describe('serve --check-config --probe', () => {
    const check = (t, ...args) => run(t, ['serve', '--check-config', '--probe', ...args]);

    test('names every model that is served', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.probed = ({ path }) => path === '/v1/models' ? json(200, { object: 'list', data: [{ id: 'one' }, { id: 'two', max_model_len: 4096 }] }) : json(404, {});
        const { status, stdout, stderr } = await check(t, '--upstream', up.url);
        assert.deepEqual([status, stderr], [0, '']);
        assert.deepEqual(stdout.match(/^\/\/ model .*$/gm), ['// model one', '// model two: context window 4096']);
    });

    test('fails when the upstream does not answer, and without --check-config', async (t) => {
        const { status, stdout } = await check(t, '--upstream', `http://127.0.0.1:${await freePort()}`);
        assert.deepEqual([status, stdout.includes('could not be reached')], [1, true]);
        const alone = await run(t, ['serve', '--probe']);
        assert.deepEqual([alone.status, alone.stdout], [2, '']);
        assert.match(alone.stderr, /--probe belongs to --check-config/);
    });
});
