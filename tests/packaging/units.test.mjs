/* units.test.mjs -- the units are right, and as closed as they claim. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { BINARY, ROOT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';

const UNITS = join(ROOT, 'packaging/systemd');
const missing = spawnSync('systemd-analyze', ['--version']).status !== 0 && 'no systemd-analyze here: install the package systemd';
const text = (name) => readFileSync(join(UNITS, name), 'utf8');
const given = (unit) => unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('systemd-analyze', { skip: missing }, () => {
    /* The units where systemd looks for them, with the program that was just built. */
    function installed(t, dropIn) {
        const root = folder(t, ''), units = join(root, 'etc/systemd/system');
        mkdirSync(units, { recursive: true });
        mkdirSync(join(root, 'usr/bin'), { recursive: true });
        mkdirSync(join(root, 'bin'), { recursive: true });
        copyFileSync(BINARY, join(root, 'usr/bin/antiphon'));
        writeFileSync(join(root, 'bin/kill'), '');
        chmodSync(join(root, 'bin/kill'), 0o755);
        for (const name of ['antiphon.service', 'antiphon@.service', 'antiphon.socket'])
            copyFileSync(join(UNITS, name), join(units, name));
        if (dropIn) {
            mkdirSync(join(units, 'antiphon.service.d'));
            copyFileSync(join(UNITS, dropIn), join(units, 'antiphon.service.d', dropIn));
        }
        return { root, unit: join(units, 'antiphon.service') };
    }

    function score(t, dropIn) {
        const { unit } = installed(t, dropIn);
        const { stdout, stderr } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], { encoding: 'utf8' });
        assert.doesNotMatch(stderr, /Unknown|Failed to parse/);
        return Number(stdout.match(/Overall exposure level.*: ([0-9.]+)/)[1]);
    }

    test('3.0 at most with the sandbox', (t) => assert.ok(score(t) <= 3.0));
    test('1.5 at most without', (t) => assert.ok(score(t, 'no-sandbox.conf') <= 1.5));

    for (const dropIn of [undefined, 'no-sandbox.conf']) {
        test(`nothing is wrong with the unit${dropIn ? ` and ${dropIn}` : ''}`, (t) => {
            const { unit } = installed(t, dropIn);
            const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', unit], { encoding: 'utf8' });
            const own = stderr.split('\n').filter((line) => line.includes('antiphon') && !line.includes('/usr/bin/antiphon is not executable'));
            assert.deepEqual(own, []);
        });
    }
});

test('instances differ in their name alone', () => {
    const plain = given(text('antiphon.service')), instance = given(text('antiphon@.service'));
    assert.equal(instance.length, plain.length);
    instance.forEach((line, i) => {
        if (line !== plain[i])
            assert.match(line, /%i/);
    });
    assert.ok(instance.filter((line) => line.includes('%i')).length >= 4);
});

test('what the sandbox needs is open, and what can be closed is closed', () => {
    const unit = text('antiphon.service');
    for (const name of ['RestrictNamespaces', 'PrivateUsers', 'ProtectKernelTunables', 'ProtectProc', 'ProcSubset', 'ProtectKernelLogs', 'ProtectHostname', 'ProtectControlGroups'])
        assert.doesNotMatch(unit, new RegExp(`^${name}=`, 'm'));
    for (const line of ['NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'ProtectSystem=strict', 'ProtectHome=yes', 'PrivateTmp=yes', 'PrivateDevices=yes', 'MemoryDenyWriteExecute=yes', 'UMask=0077', 'Delegate=yes', 'Type=notify', 'WatchdogSec=30', 'LimitNOFILE=262144'])
        assert.ok(given(unit).includes(line), line);
});

test('the package has the version of the program', () => {
    const program = spawnSync(BINARY, ['version'], { encoding: 'utf8' }).stdout.match(/^antiphon (\S+)/)[1];
    assert.equal(readFileSync(join(ROOT, 'debian/changelog'), 'utf8').match(/^antiphon \((.*)\)/)[1], program);
});
