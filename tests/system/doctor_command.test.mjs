/* doctor_command.test.mjs -- `antiphon doctor` as its operator meets it: flags, text, --write, mistakes. */
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { doctor } from '../lib/doctor_command.mjs';
import { doctorServer, refused } from '../lib/doctor_server.mjs';
import { folder } from '../lib/folder.mjs';
import { SILENCE, startUpstream } from '../lib/upstream.mjs';

const NO_USAGE = { refuse: ({ stream_options }) => stream_options && refused(422, 'Extra inputs are not permitted') };
const LINE = 'tiny include_usage=off';

async function server(t, habits) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = doctorServer(habits);
    return up;
}

test('the text says what is wrong, why it matters and what to type', async (t) => {
    const up = await server(t, NO_USAGE);
    const { status, stdout, stderr } = await doctor(t, ['--quick', '--upstream', up.url, '--model', 'tiny', '--all-forms']);
    assert.deepEqual([status, stderr], [1, '']);
    assert.match(stdout, /^set {3}usage {8}stream_options is refused: Extra inputs are not permitted\n {19}every streamed request fails$/m);
    assert.match(stdout, /^ok {4}stream {7}chunks, then \[DONE\]: \d+$/m);
    assert.ok(stdout.endsWith(`
Settings:
  model_settings=${LINE}
    file:      "model_settings": ["${LINE}"]
    variable:  ANTIPHON_MODEL_SETTINGS='${LINE}'
    flag:      --model-settings '${LINE}'
`), stdout);
    const again = await doctor(t, ['--quick', '--upstream', up.url, '--model', 'tiny'], { ANTIPHON_MODEL_SETTINGS: LINE });
    assert.deepEqual([again.status, again.stdout.includes('Settings:')], [0, false], again.stdout);
});

describe('--write', () => {
    test('puts the settings into the file, keeps its comments and a copy, and has nothing to do then', async (t) => {
        const up = await server(t, NO_USAGE);
        const file = folder(t, 'antiphon.json');
        const text = `{ // mine\n  "upstream": "${up.url}",\n  "model": "tiny", /* small */\n}\n`;
        writeFileSync(file, text, { mode: 0o600 });
        const args = ['--quick', '--config', file, '--write', file];
        const { status, stderr } = await doctor(t, args);
        assert.deepEqual([status, stderr], [1, `antiphon: ${file}: model_settings gets "${LINE}"\n`]);
        assert.equal(readFileSync(file, 'utf8'), text.replace('{', `{\n  "model_settings": ["${LINE}"],`));
        assert.equal(readFileSync(`${file}.bak`, 'utf8'), text);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const again = await doctor(t, args);
        assert.deepEqual([again.status, again.stderr], [0, ''], again.stdout);
    });

    test('leaves a file alone that it does not understand', async (t) => {
        const up = await server(t, NO_USAGE);
        const file = folder(t, 'other.json');
        writeFileSync(file, '[]', { mode: 0o600 });
        const { status, stderr } = await doctor(t, ['--quick', '--upstream', up.url, '--model', 'tiny', `--write=${file}`]);
        assert.equal(status, 2);
        assert.match(stderr, /other\.json: it is no object with a list model_settings; add to it "tiny include_usage=off"/);
        assert.equal(readFileSync(file, 'utf8'), '[]');
    });
});

test('a server that says nothing is waited for no longer than --timeout', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = () => SILENCE;
    const { status, stdout } = await doctor(t, ['--upstream', up.url, '--timeout', '200ms']);
    assert.equal(status, 3);
    assert.match(stdout, /nobody answers: /);
});

test('an answer that is none is told apart from a refusal, and a refusal without words has its status', async (t) => {
    const page = (status) => ({ status, headers: { 'content-type': 'text/html' }, pieces: ['<!doctype html><html></html>'] });
    for (const [status, words] of [[200, /^bad {3}stream {7}the answer to a plain question is no chat completion.*\n {19}.*the URL/m], [502, /^bad {3}stream {7}a plain question is refused: status 502$/m]]) {
        const up = await startUpstream();
        t.after(() => up.close());
        const server = doctorServer();
        up.probed = (request) => request.path === '/v1/chat/completions' ? page(status) : server(request);
        const got = await doctor(t, ['--upstream', up.url, '--quick']);
        assert.equal(got.status, 2);
        assert.match(got.stdout, words);
    }
});

test('mistakes are told with status 2', async (t) => {
    for (const [args, words] of [
        [[], /which upstream\? Give --upstream/],
        [['--upstream', 'http://h:1', '--timeout', 'soon'], /--timeout: "soon" is no duration/],
        [['--upstream', 'http://h:1', '--write'], /--write needs the name of a file/],
        [['--upstream', 'http://h:1', '--qick'], /unknown flag --qick/],
    ]) {
        const { status, stdout, stderr } = await doctor(t, args);
        assert.deepEqual([status, stdout], [2, '']);
        assert.match(stderr, words);
    }
});

test('its help names its flags', async (t) => {
    const { status, stdout } = await doctor(t, ['--help']);
    assert.equal(status, 0);
    for (const flag of ['--quick', '--json', '--all-forms', '--timeout', '--write'])
        assert.ok(stdout.includes(flag));
});
