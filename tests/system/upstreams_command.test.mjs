/* upstreams_command.test.mjs -- commands of a configuration with a file of upstreams. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { command as run } from '../lib/doctor_command.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { json, startUpstream } from '../lib/upstream.mjs';

const KEY = 'sk-of-one-alone';

/* The path of a file with this text, or this object. */
function fileOf(t, file) {
    const path = folder(t, 'upstreams.json');
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file), { mode: 0o600 });
    return path;
}

/* An upstream that lists these models, with the key if it is given. */
async function listing(t, ids, key = null) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = ({ path, headers }) => path === '/v1/models' && (key === null || headers.authorization === `Bearer ${key}`)
        ? json(200, { object: 'list', data: ids.map((id) => ({ id, object: 'model' })) }) : json(404, {});
    return up;
}

describe('serve --check-config', () => {
    test('shows the upstreams, and with --probe what each lists', async (t) => {
        const one = await listing(t, ['m', 'other'], KEY), two = await listing(t, ['n']);
        const path = fileOf(t, `{ // two of them
            "upstreams": { "one": { "url": "${one.url}", "key_env": "KEY_OF_ONE", "models": ["m", {"name": "fast", "model": "other"}] },
                           "two": { "url": "${two.url}", "max_concurrency": 4 }, },
            "default": ["two"], "policies": { "fast": { "policy": "first" } } }`);
        const { status, stdout, stderr } = await run(t, ['serve', '--check-config', '--probe', '--upstreams-file', path], { KEY_OF_ONE: KEY });
        assert.deepEqual([status, stderr], [0, '']);
        assert.ok(!stdout.includes(KEY));
        assert.match(stdout, /^\/\/ upstream one: http:.*, with a key; serves m, fast as other$/m);
        assert.match(stdout, /^\/\/ upstream two: http:.*, at most 4 at a time, without a key; serves what it lists$/m);
        assert.match(stdout, /^\/\/ other models: two$/m);
        assert.match(stdout, /^\/\/ policy of fast: first, /m);
        assert.deepEqual(stdout.match(/^\/\/ (kind of the upstream \w+|model \w+)/gm),
            ['// kind of the upstream one', '// model m', '// model other', '// kind of the upstream two', '// model n']);
    });

    test('fails when one of them does not answer', async (t) => {
        const up = await listing(t, ['m']);
        const path = fileOf(t, { upstreams: { gone: { url: `http://127.0.0.1:${await freePort()}` }, here: { url: up.url } } });
        const { status, stdout } = await run(t, ['serve', '--check-config', '--probe', '--upstreams-file', path]);
        assert.equal(status, 1);
        assert.match(stdout, /^\/\/ kind of the upstream gone: .*could not be reached$/m);
        assert.match(stdout, /^\/\/ model m$/m);
    });
});

test('all mistakes of the file and of the flags end the program with 2', async (t) => {
    const path = fileOf(t, '{"upstreams": {"a": {"wieght": 1},\n"b": {"url": "http://h", "key": "sk-hidden secret"}}}');
    for (const command of [['serve'], ['serve', '--check-config'], ['models'], ['doctor']]) {
        const { status, stdout, stderr } = await run(t, [...command, '--upstreams-file', path]);
        assert.deepEqual([status, stdout], [2, ''], command.join(' '));
        assert.match(stderr, /upstreams\.json: line 1: upstreams\.a\.wieght: .*"weight"\?/);
        assert.match(stderr, /line 1: upstreams\.a: has no url/);
        assert.match(stderr, /line 2: upstreams\.b\.key: /);
        assert.ok(!stderr.includes('hidden'));
    }
    const both = await run(t, ['serve', '--check-config', '--upstreams-file', path, '--upstream', 'http://h']);
    assert.equal(both.status, 2);
    assert.match(both.stderr, /--upstream: upstreams stand in upstreams_file/);
});

test('models prints what all of them serve, and goes on without those that are gone', async (t) => {
    const up = await listing(t, ['gpt-oss-20b', 'qwen', 'm']), all = await listing(t, ['m', 'z']);
    const gone = `http://127.0.0.1:${await freePort()}`;
    const path = fileOf(t, { upstreams: { up: { url: up.url, models: ['gpt-*', 'm'] }, gone: { url: gone, models: ['k', 'auto'] }, all: { url: all.url } } });
    const { status, stdout, stderr } = await run(t, ['models', '--upstreams-file', path, '--model-alias', 'fast=k,slow=nothing']);
    assert.equal(status, 0, stderr);
    assert.deepEqual(stdout.trim().split('\n'), ['m', 'gpt-oss-20b', 'k', 'z', 'fast']);
    assert.match(stderr, /^antiphon: upstream gone: /);
});

test('doctor looks at the one that is named', async (t) => {
    const one = await listing(t, ['m'], KEY), two = await listing(t, ['n']);
    const path = fileOf(t, { upstreams: { one: { url: one.url, key: KEY }, two: { url: two.url } } });
    const which = await run(t, ['doctor', '--upstreams-file', path]);
    assert.equal(which.status, 2);
    assert.match(which.stderr, /which upstream\? Give --name with one of one, two/);
    const wrong = await run(t, ['doctor', '--upstreams-file', path, '--name', 'three']);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /there is no upstream "three"; give one of one, two/);
    const { stdout } = await run(t, ['doctor', '--quick', '--json', '--upstreams-file', path, '--name', 'one']);
    const report = JSON.parse(stdout);
    assert.deepEqual([report.upstream, report.model], [`${one.url}`, 'm']);
    assert.ok(!stdout.includes(KEY));
});
