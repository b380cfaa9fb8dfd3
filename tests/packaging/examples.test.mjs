/* examples.test.mjs -- the examples can be read, and name only what is there. No daemon of containers
 * runs here: whether an image comes of the Dockerfile is not tried. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { BINARY, ENVIRONMENT, ROOT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';

const file = (name) => readFileSync(join(ROOT, name), 'utf8');
const EXAMPLES = ['packaging/examples/compose/llama.yaml', 'packaging/examples/compose/postgres.yaml', 'packaging/examples/kubernetes/antiphon.yaml'];
const keys = () => new Set([...file('src/config/config.def').matchAll(/^KEY\(([a-z0-9_]+)/gm)].map(([, name]) => name));

const yaml = spawnSync('python3', ['-c', 'import yaml']).status === 0;
const documents = (name) => {
    const { status, stdout, stderr } = spawnSync('python3', ['-c', 'import sys, json, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))', join(ROOT, name)], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
};

for (const name of EXAMPLES) {
    test(`${name} is YAML`, { skip: !yaml && 'no python3-yaml here' }, () => assert.ok(documents(name).every((each) => typeof each === 'object')));

    test(`${name} sets variables that there are`, () => {
        const known = keys();
        const set = [...file(name).matchAll(/^\s+(?:- name: )?ANTIPHON_([A-Z_]+)/gm)].map(([, key]) => key.toLowerCase());
        assert.ok(set.length > 0);
        assert.deepEqual(set.filter((key) => !known.has(key)), []);
    });
}

test('the gateways of the examples may not do more than they need', { skip: !yaml && 'no python3-yaml here' }, () => {
    for (const name of EXAMPLES.slice(0, 2)) {
        const services = Object.values(documents(name)[0].services).filter(({ image }) => image.startsWith('antiphon'));
        assert.ok(services.length > 0);
        for (const each of services) {
            assert.equal(each.read_only, true);
            assert.deepEqual(each.cap_drop, ['ALL']);
        }
    }
    const pod = documents(EXAMPLES[2]).find(({ kind }) => kind === 'Deployment').spec.template.spec;
    assert.equal(pod.securityContext.runAsNonRoot, true);
    assert.equal(pod.containers[0].securityContext.readOnlyRootFilesystem, true);
    assert.equal(pod.containers[0].securityContext.allowPrivilegeEscalation, false);
});

test('the Dockerfile copies what is there, runs as nobody in particular, and asks after its health', () => {
    const text = file('Dockerfile');
    for (const [, path] of text.matchAll(/^COPY (?!--from)(\S+)/gm))
        assert.ok(existsSync(join(ROOT, path)), path);
    assert.match(text, /^USER 65532/m);
    assert.match(text, /^HEALTHCHECK .*CMD \["antiphon", "health"\]$/m);
    const known = keys();
    for (const [, key] of text.matchAll(/ANTIPHON_([A-Z_]+)=/g))
        assert.ok(key === 'API_KEY' || known.has(key.toLowerCase()), key);
});

test('the seccomp profile lets the sandbox be made, and the kernel be', () => {
    const profile = JSON.parse(file('packaging/examples/seccomp/antiphon-seccomp.json'));
    assert.equal(profile.defaultAction, 'SCMP_ACT_ERRNO');
    const allowed = new Set(profile.syscalls.flatMap(({ names, action }) => action === 'SCMP_ACT_ALLOW' ? names : []));
    for (const call of ['unshare', 'mount', 'pivot_root', 'sethostname', 'seccomp', 'execve', 'epoll_wait'])
        assert.ok(allowed.has(call), call);
    for (const call of ['init_module', 'kexec_load', 'reboot', 'ptrace', 'bpf', 'swapon', 'settimeofday'])
        assert.ok(!allowed.has(call), call);
});

/* What the gateway says to a configuration, in an environment that has nothing else of it. */
function check(t, args, env) {
    const { status, stdout, stderr } = spawnSync(BINARY, [...args, '--check-config'], { encoding: 'utf8', cwd: folder(t, ''), env: { ...ENVIRONMENT, ...env } });
    return { status, stderr, shows: (key, value) => assert.match(stdout, new RegExp(`"${key}": ${value}`)) };
}

/* Of the image: what its ENV lines set. */
const image = () => Object.fromEntries([...file('Dockerfile').matchAll(/(ANTIPHON_[A-Z_]+)=([^\s"$.]+)( \\)?$/gm)].map(([, name, value]) => [name, value]));

test('the image starts with keys, and without them only when it is told to', (t) => {
    const env = image();
    assert.deepEqual(Object.keys(env).sort(), ['ANTIPHON_ALLOW_OPEN', 'ANTIPHON_CODE_INTERPRETER', 'ANTIPHON_LISTEN', 'ANTIPHON_LOG_FORMAT']);
    const open = check(t, ['serve'], env);
    assert.equal(open.status, 2);
    assert.match(open.stderr, /listen: :8080: other machines may connect, no key is asked for, and allow_open is off/);
    assert.equal(check(t, ['serve'], { ...env, ANTIPHON_API_KEY: 'k' }).status, 0);
    assert.equal(check(t, ['serve'], { ...env, ANTIPHON_LISTEN: '127.0.0.1:8080' }).status, 0);
    const told = check(t, ['serve'], { ...env, ANTIPHON_ALLOW_OPEN: '1' });
    assert.equal(told.status, 0);
    assert.match(told.stderr, /other machines may connect and no key is asked for/);
    assert.equal(check(t, ['serve'], { ANTIPHON_LISTEN: ':8080' }).status, 0, 'the program by itself warns');
});

test('presets that listen on all addresses want keys where open gateways are refused', (t) => {
    for (const [preset, port] of [['ors', 8080], ['vllm-responses', 5969]]) {
        const { status, stderr } = check(t, ['serve'], { ANTIPHON_ALLOW_OPEN: '0', ANTIPHON_PRESET: preset });
        assert.equal(status, 2);
        assert.match(stderr, new RegExp(`listen: 0.0.0.0:${port}: other machines may connect`));
    }
});

test('the variables of the Compose examples are right', { skip: !yaml && 'no python3-yaml here' }, (t) => {
    for (const name of EXAMPLES.slice(0, 2)) {
        const gateways = Object.values(documents(name)[0].services).filter(({ image }) => image.startsWith('antiphon'));
        for (const { environment } of gateways) {
            const values = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, value.replace(/^\$\{.*$/, key === 'ANTIPHON_UPSTREAM' ? 'http://models/v1' : `given-${key}`)]));
            const { status, stderr } = check(t, ['serve'], { ...image(), ...values });
            assert.equal(status, 0, stderr);
        }
    }
});

test('configuration, arguments and variables of the Kubernetes example are right', { skip: !yaml && 'no python3-yaml here' }, (t) => {
    const all = documents(EXAMPLES[2]), { data } = all.find(({ kind }) => kind === 'ConfigMap');
    const [container] = all.find(({ kind }) => kind === 'Deployment').spec.template.spec.containers;
    const written = folder(t, 'antiphon.json');
    writeFileSync(written, data['antiphon.json']);
    const env = Object.fromEntries(container.env.map(({ name }) => [name, name === 'ANTIPHON_STORE' ? 'postgres://antiphon@db/antiphon' : `given-${name}`]));
    const { status, stderr, shows } = check(t, container.args.map((each) => each.replace('/etc/antiphon/antiphon.json', written)), { ...image(), ...env });
    assert.equal(status, 0, stderr);
    shows('drain_delay', '"5s"');
});
