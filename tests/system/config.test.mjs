/* config.test.mjs -- the configuration as its operator meets it: checking it, all
 * mistakes at once, help, and the man page. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { BINARY, ENVIRONMENT, ROOT, startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';

/* Ends by itself: { status, stdout, stderr }. */
function run(args, env = {}) {
    return spawnSync(BINARY, args, { encoding: 'utf8', timeout: patience(10_000), env: { ...ENVIRONMENT, ...env } });
}

const check = (args, env) => run(['serve', '--check-config', ...args], env);

function fileWith(t, text) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'antiphon.json');
    writeFileSync(file, text);
    return file;
}

/* What --check-config prints, as an object: { key: [value, source] }. */
function shown(text) {
    const lines = [...text.matchAll(/^ {2}(?:\/\/ )?"(\w+)": (.*), \/\/ (.*)$/gm)];
    return Object.fromEntries(lines.map(([, key, value, source]) => [key, [JSON.parse(value), source]]));
}

const keys = () => [...readFileSync(join(ROOT, 'src/config/config.def'), 'utf8').matchAll(/^KEY\((\w+),/gm)].map(([, key]) => key);

describe('--check-config', () => {
    test('a good configuration is printed with the source of every value', (t) => {
        const file = fileWith(t, '{ // mine\n "model": "m",\n "listen": [":1", "unix:/run/a.sock"] }');
        const got = check(['--config', file, '--workers', '3', '--listen', 'a:2', '--listen', 'b:3'],
            { ANTIPHON_MAX_BODY: '2MiB', LOG_LEVEL: 'DEBUG', ANTIPHON_API_KEY: 'k' });
        assert.deepEqual([got.status, got.stderr], [0, '']);
        const config = shown(got.stdout);
        assert.deepEqual(Object.keys(config), keys());
        assert.deepEqual(config.api_key, ['***', 'variable ANTIPHON_API_KEY']);
        assert.deepEqual(config.model, ['m', `file ${file}, line 2`]);
        assert.deepEqual(config.listen, [['a:2', 'b:3'], 'flag --listen']);
        assert.deepEqual(config.workers, [3, 'flag --workers']);
        assert.deepEqual(config.max_body, ['2MiB', 'variable ANTIPHON_MAX_BODY']);
        assert.deepEqual(config.log_level, ['debug', 'variable LOG_LEVEL']);
        assert.deepEqual(config.upstream, ['', 'default']);
    });

    test('what it prints is a configuration file', (t) => {
        const first = check(['--model-alias', 'gpt-4o=qwen3', '--idle-timeout', '90s']);
        const again = check(['--config', fileWith(t, first.stdout)]);
        assert.equal(again.status, 0, again.stderr);
        const values = (text) => Object.entries(shown(text)).map(([key, [value]]) => [key, value]);
        assert.deepEqual(values(again.stdout), values(first.stdout));
    });

    test('mistakes of all sources are told at once, in order, and counted', (t) => {
        const file = fileWith(t, '{\n"wokers": 1,\n"relay": "some",\n"model": "m" "x": 1}');
        const args = ['--config', file, '--idle-timeout', 'soon', '--listen', 'nowhere', '--no-such-flag'];
        const got = check(args, { ANTIPHON_MAX_BODY: 'lots', ANTIPHON_MODLE: 'm' });
        assert.equal(got.status, 2);
        assert.equal(got.stdout, '');
        const expected = [
            `antiphon: ${file}: line 2: unknown key "wokers"; did you mean "workers"?`,
            `antiphon: ${file}: line 3: relay: "some" is not valid`,
            `antiphon: ${file}: line 4, column 14: `,
            'antiphon: ANTIPHON_MAX_BODY: "lots" is not valid',
            'antiphon: warning: ANTIPHON_MODLE is not known; did you mean ANTIPHON_MODEL?',
            'antiphon: --idle-timeout: "soon" is not valid',
            'antiphon: --listen: "nowhere" is not valid',
            'antiphon: unknown flag --no-such-flag',
            'antiphon: 7 errors, 1 warning',
        ];
        const lines = got.stderr.trimEnd().split('\n');
        assert.equal(lines.length, expected.length, got.stderr);
        expected.forEach((begin, i) => assert.ok(lines[i].startsWith(begin), `${lines[i]}\ndoes not start with\n${begin}`));

        const start = run(['serve', ...args], { ANTIPHON_MAX_BODY: 'lots', ANTIPHON_MODLE: 'm' });
        assert.deepEqual([start.status, start.stderr], [2, got.stderr], 'a start says the same');
    });

    test('what variables of OpenTelemetry switch on is shown, and nothing else', () => {
        const told = (env, ...args) => check(args, env).stdout.match(/^\/\/ traces .*$/m)?.[0];
        assert.equal(told({}), undefined);
        assert.equal(told({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }), '// traces are sent to http://localhost:4318/v1/traces');
        assert.equal(told({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, '--traces', 'off'), undefined);
    });

    test('warnings are printed and do not fail', () => {
        const got = check(['--upstream', 'http://gpu.example:8000'], { OPENAI_API_KEY: 'hush' });
        assert.equal(got.status, 0);
        assert.match(got.stderr, /^antiphon: warning: OPENAI_API_KEY: is sent unencrypted.*\nantiphon: 0 errors, 1 warning\n$/);
        assert.ok('upstream' in shown(got.stdout));
    });

    test('secrets are never printed', (t) => {
        const secret = { proxy: 'http://me:hush@proxy:1', upstream_key: 'hush' };
        const good = check(['--upstream', 'https://h', '--config', fileWith(t, JSON.stringify(secret))]);
        assert.equal(good.status, 0, good.stderr);
        assert.deepEqual([shown(good.stdout).upstream_key[0], shown(good.stdout).proxy[0]], ['***', '***']);
        for (const [args, env, status] of [
            [['--upstream-key', 'hush', '--upstream', 'https://h'], {}, 0],
            [['--upstream-key', 'hu', 'hush'], {}, 2],
            [['--upstream-key', 'hush\t'], {}, 2],
            [['--encryption-keys', 'hush-hush-hush-hush'], {}, 0],
            [['--encryption-keys', 'hush'], {}, 2],
            [['--upstream', 'http://me:hush@h'], {}, 2],
            [[], { OPENAI_API_KEY: 'hush' }, 0],
            [['--config', fileWith(t, '{"upstream_key": "hush" hush}')], {}, 2],
        ]) {
            const got = check(args, env);
            assert.equal(got.status, status, got.stderr);
            assert.ok(!(got.stdout + got.stderr + good.stdout).includes('hush'), got.stdout + got.stderr);
        }
    });
});

test('warnings of a start are in the log', async () => {
    const daemon = await startDaemon({ env: { ANTIPHON_MODLE: 'm' }, args: ['--keep-alive', '5s'] });
    await daemon.stop();
    await daemon.logged(/ANTIPHON_MODLE is not known; did you mean ANTIPHON_MODEL\?/);
    await daemon.logged(/--keep-alive: common clients/);
});

describe('help', () => {
    test('every form of it lists the commands', () => {
        for (const word of ['help', '--help', '-h']) {
            const got = run([word]);
            assert.deepEqual([got.status, got.stderr], [0, '']);
            for (const command of ['serve [flags]', 'serve --check-config', 'help', 'version'])
                assert.ok(got.stdout.includes(`\n  ${command}`), command);
        }
        assert.match(run(['serve', '--help']).stdout, /--check-config\n[^]*--probe\n/);
        assert.match(run(['version']).stdout, /^antiphon \d/);
    });

    test('that of one command has its usage and says where the flags are, in two ways', () => {
        for (const command of ['serve', 'health', 'models', 'doctor', 'key', 'store', 'mcp', 'sandbox']) {
            const got = run([command, '--help']);
            assert.deepEqual([got.status, got.stderr], [0, '']);
            assert.match(got.stdout, new RegExp(`^usage:\\s+antiphon ${command} `));
            assert.ok(!got.stdout.includes('[flags]') || got.stdout.includes('antiphon serve'), command);
            assert.equal(run(['help', command]).stdout, got.stdout);
        }
        assert.equal(run(['help', 'help']).stdout, run(['help']).stdout);
        const unknown = run(['help', 'serv']);
        assert.deepEqual([unknown.status, unknown.stdout], [2, '']);
        assert.match(unknown.stderr, /did you mean serve\?/);
    });

    test('an unknown command is told with the one that was probably meant', () => {
        for (const [word, advice] of [['srve', /did you mean serve\?/], ['zzzzzzzz', /see antiphon help/], ['', /unknown command ""/]]) {
            const got = run([word]);
            assert.equal(got.status, 2);
            assert.match(got.stderr, advice);
            assert.equal(got.stdout, '');
        }
        assert.equal(run([]).status, 2);
    });
});

describe('the man page', () => {
    const page = readFileSync(join(ROOT, 'docs/antiphon.1'), 'utf8');

    test('names every key, command and section', () => {
        for (const key of keys())
            assert.ok(page.includes(`\\fB\\-\\-${key.replaceAll('_', '\\-')}\\fR`), key);
        for (const section of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'COMMANDS', 'ENDPOINTS', 'OPTIONS', 'ENVIRONMENT', 'FILES', 'SIGNALS', 'EXIT STATUS', 'EXAMPLES'])
            assert.ok(page.includes(`\n.SH ${section}\n`), section);
    });

    test('groff finds nothing wrong with it and shows the text', () => {
        const got = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou'], { input: page, encoding: 'utf8' });
        assert.deepEqual([got.error, got.status, got.stderr], [undefined, 0, '']);
        for (const text of ['--no-tls-verify', '--listen :8080 --listen unix:/run/antiphon.sock \\\n', 'ANTIPHON_MAX_BODY=8MiB'])
            assert.ok(got.stdout.includes(text), text);
        assert.match(got.stdout, /Default:\s+127\.0\.0\.1:8080\./);
    });

    test('is installed and uninstalled', (t) => {
        const root = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
        t.after(() => rmSync(root, { recursive: true }));
        const make = (target) => spawnSync('make', ['-s', target, `DESTDIR=${root}`, 'PREFIX=/usr'], { cwd: ROOT, encoding: 'utf8', env: { ...process.env, MAKEFLAGS: '' } });
        const installed = join(root, 'usr/share/man/man1/antiphon.1');
        const made = make('install');
        assert.equal(made.status, 0, made.stderr);
        assert.equal(readFileSync(installed, 'utf8'), page);
        assert.equal(spawnSync(join(root, 'usr/bin/antiphon'), ['version']).status, 0);
        assert.equal(make('uninstall').status, 0);
        assert.throws(() => readFileSync(installed), { code: 'ENOENT' });
    });
});
