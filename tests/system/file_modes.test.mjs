/* file_modes.test.mjs -- files that others may write or read: a warning with what to do. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';

const KEYS = `alice ${'0'.repeat(64)}\n`;
const ROOT_ONLY = process.getuid() !== 0 && 'only root may give files away';

function check(...args) {
    const got = spawnSync(BINARY, ['serve', '--check-config', ...args], { encoding: 'utf8', timeout: patience(10_000), env: ENVIRONMENT });
    assert.equal(got.status, 0, got.stderr);
    return got.stderr;
}

function file(t, name, text, mode) {
    const path = folder(t, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
}

const config = (path) => ['--config', path];
const keys = (path) => ['--api-keys-file', path];
const servers = (path) => ['--mcp-config', path];
const kinds = [['config.json', '{}', config], ['keys', KEYS, keys], ['mcp.json', '{"mcpServers": {}}', servers]];

describe('a file', () => {
    for (const [name, text, args] of kinds)
        test(`${name} that others may write is worth a warning`, (t) => {
            for (const mode of [0o602, 0o620, 0o622, 0o662]) {
                const path = file(t, name, text, mode);
                const said = check(...args(path));
                if (process.getuid() === 0 || (mode & 0o002) !== 0)
                    assert.ok(said.includes(`warning: ${path}: others may write it (mode ${mode.toString(8).padStart(4, '0')}); run: chmod go-w ${path}\n`), said);
            }
            for (const mode of [0o600, 0o400, 0o640])
                assert.equal(check(...args(file(t, name, text, mode))), '');
        });

    test('is found behind a link', (t) => {
        const path = file(t, 'config.json', '{}', 0o666), link = folder(t, 'link');
        symlinkSync(path, link);
        assert.match(check(...config(link)), /link: others may write it \(mode 0666\)/);
    });

    test('in a folder that others may write can be replaced, unless it is sticky', (t) => {
        const dir = folder(t, 'shared');
        mkdirSync(dir);
        const path = join(dir, 'config.json');
        writeFileSync(path, '{}', { mode: 0o600 });
        chmodSync(dir, 0o777);
        assert.ok(check(...config(path)).includes(`warning: ${path}: others may replace it, since they may write its folder (mode 0777); run: chmod go-w ${realpathSync(dir)}\n`));
        chmodSync(dir, 0o1777);
        assert.equal(check(...config(path)), '');
    });

    test('of keys that everybody may read is worth a warning', (t) => {
        const path = file(t, 'keys', KEYS, 0o644);
        assert.ok(check(...keys(path)).includes(`warning: ${path}: everybody may read it (mode 0644); run: chmod o-rwx ${path}\n`));
        assert.equal(check(...config(file(t, 'config.json', '{}', 0o644))), '');
    });

    test('that a server of the list is started with counts as well', (t) => {
        const env = file(t, 'server.env', 'A=1\n', 0o666), token = file(t, 'token', 'x\n', 0o644);
        const said = check(...servers(file(t, 'mcp.json', JSON.stringify({ mcpServers: {
            a: { command: 'true', envFile: env }, b: { url: 'https://mcp.example.org/', bearerTokenFile: token } } }), 0o600)));
        assert.match(said, /server\.env: others may write it \(mode 0666\)/);
        assert.match(said, /token: everybody may read it \(mode 0644\)/);
    });

    test('of a user whose group is its own may be written by that group', { skip: ROOT_ONLY }, (t) => {
        const path = file(t, 'config.json', '{}', 0o664);
        chownSync(path, 12345, 12345);
        assert.equal(check(...config(path)), '');
        chownSync(path, 12345, 12346);
        assert.match(check(...config(path)), /others may write it/);
    });

    test('that changes while the gateway runs is warned of when it is read again', async (t) => {
        const path = file(t, 'keys', KEYS, 0o600);
        const daemon = await startDaemon({ args: keys(path) });
        t.after(() => daemon.stop());
        assert.doesNotMatch(daemon.log, / warn .*keys: /);
        chmodSync(path, 0o606);
        daemon.child.kill('SIGHUP');
        await daemon.logged(/warn .*keys: others may write it \(mode 0606\); run: chmod go-w /);
        await daemon.logged(/reload part=keys result=ok/);
    });
});
