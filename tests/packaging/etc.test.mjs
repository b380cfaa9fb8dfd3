/* etc.test.mjs -- the files that stand in /etc say nothing until somebody takes the marks of comments
 * away, and then what they say is right. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { BINARY, ENVIRONMENT, ROOT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';

const EXAMPLE = join(ROOT, 'packaging/etc/antiphon.json');

function shown(t, config, env = {}) {
    const { status, stdout, stderr } = spawnSync(BINARY, ['serve', '--check-config', '--config', config], { encoding: 'utf8', cwd: folder(t), env: { ...ENVIRONMENT, ...env } });
    assert.equal(status, 0, stderr);
    return stdout;
}

test('the example sets nothing', (t) => {
    const set = shown(t, EXAMPLE).split('\n').filter((line) => line.includes('antiphon.json'));
    assert.deepEqual(set, []);
});

test('every line of it that is given is a key with a value that fits', (t) => {
    const file = folder(t, 'antiphon.json'), keys = join(dirname(file), 'keys'), servers = join(dirname(file), 'mcp.json');
    const text = readFileSync(EXAMPLE, 'utf8').replace(/^ {4}\/\/ "/gm, '    "').replace('/etc/antiphon/keys', keys).replace('/etc/antiphon/mcp.json', servers);
    writeFileSync(keys, `me ${'0'.repeat(64)}\n`, { mode: 0o600 });
    writeFileSync(servers, '{"mcpServers": {}}');
    writeFileSync(file, text);
    const given = [...text.matchAll(/^ {4}"([a-z_]+)"/gm)].map(([, name]) => name);
    assert.ok(given.length > 6);
    const lines = shown(t, file).split('\n');
    for (const name of given)
        assert.ok(lines.some((line) => line.includes(`"${name}"`) && line.includes(file)), `${name} is not set by the file`);
});

test('every variable of the default file is one', (t) => {
    const text = readFileSync(join(ROOT, 'packaging/etc/default'), 'utf8');
    const variables = Object.fromEntries([...text.matchAll(/^# (ANTIPHON_[A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value || `of-its-own-for-${name}`]));
    assert.ok(Object.keys(variables).length > 2);
    const lines = shown(t, EXAMPLE, variables);
    for (const name of Object.keys(variables))
        assert.ok(lines.includes(name), `${name} is not read`);
});
