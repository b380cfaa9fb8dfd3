/* program.test.mjs -- how the built program is hardened, and the bill of materials of what is in it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ROOT } from '../lib/daemon.mjs';

const PROGRAM = join(ROOT, 'build/release/antiphon');
const readelf = (...args) => spawnSync('readelf', ['-W', ...args, PROGRAM], { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout;

describe('hardening', () => {
    test('it can lie anywhere (PIE)', () => {
        assert.match(readelf('-h'), /Type:\s+DYN/);
        assert.match(readelf('-d'), /FLAGS_1.*PIE/);
    });
    test('what was bound is read-only (full RELRO)', () => {
        assert.match(readelf('-l'), /GNU_RELRO/);
        assert.match(readelf('-d'), /BIND_NOW|FLAGS.*NOW/);
    });
    test('nothing is both written and run', () => {
        assert.match(readelf('-l'), /GNU_STACK\s.*\sRW\s/);
        assert.doesNotMatch(readelf('-l'), /LOAD.*\sRWE\s/);
    });
    test('the stack is guarded', () => assert.match(readelf('--dyn-syms'), /__stack_chk_fail/));
    test('lengths are checked where they are known at run time (_FORTIFY_SOURCE=3)', () => {
        assert.match(readelf('--dyn-syms'), /__(memcpy|snprintf|memset|memmove)_chk/);
        assert.match(readFileSync(join(ROOT, 'build/release/flags'), 'utf8'), /-D_FORTIFY_SOURCE=3/);
    });
    /* The linker gives the program the mark only where the C library's own objects have it, which are
     * not built so in Debian 12: ours are looked at. */
    test('jumps in our objects have their targets marked (CET)', { skip: process.arch !== 'x64' && 'not this processor' }, () => {
        for (const name of ['libantiphon-core.a', 'libantiphon-shell.a']) {
            const notes = spawnSync('readelf', ['-W', '-n', join(ROOT, 'build/release', name)], { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout;
            const n = (pattern) => [...notes.matchAll(pattern)].length;
            assert.ok(n(/^File: /gm) > 30);
            assert.equal(n(/IBT, SHSTK/g), n(/^File: /gm), name);
        }
    });
    test('no library is looked for beside it', () => assert.doesNotMatch(readelf('-d'), /R(UN)?PATH/));
    test('it does not know where it was built', () => {
        const strings = spawnSync('grep', ['-c', '-F', ROOT, PROGRAM], { encoding: 'utf8' });
        assert.equal(strings.stdout.trim(), '0');
    });
});

describe('the bill of materials', () => {
    const make = () => {
        const made = spawnSync('make', ['-s', 'sbom'], { cwd: ROOT, encoding: 'utf8', env: { ...process.env, MAKEFLAGS: '' } });
        assert.equal(made.status, 0, made.stderr);
        return readFileSync(join(ROOT, 'build/release/sbom.spdx.json'), 'utf8');
    };

    test('is SPDX 2.3, and every reference in it is to something', () => {
        const bill = JSON.parse(make());
        assert.deepEqual([bill.spdxVersion, bill.dataLicense, bill.SPDXID], ['SPDX-2.3', 'CC0-1.0', 'SPDXRef-DOCUMENT']);
        assert.match(bill.documentNamespace, /^https?:\/\/[^#]+$/);
        assert.match(bill.creationInfo.created, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        assert.ok(bill.creationInfo.creators.every((who) => /^(Tool|Organization|Person): /.test(who)));
        const ids = [bill.SPDXID, ...bill.packages.map(({ SPDXID }) => SPDXID)];
        assert.equal(new Set(ids).size, ids.length);
        for (const each of bill.packages) {
            assert.match(each.SPDXID, /^SPDXRef-[A-Za-z0-9.-]+$/);
            for (const field of ['name', 'versionInfo', 'downloadLocation', 'licenseConcluded', 'licenseDeclared', 'copyrightText'])
                assert.equal(typeof each[field], 'string', `${each.name}: ${field}`);
            assert.equal(each.filesAnalyzed, false);
        }
        for (const { spdxElementId, relatedSpdxElement } of bill.relationships)
            assert.ok(ids.includes(spdxElementId) && ids.includes(relatedSpdxElement));
        assert.ok(bill.documentDescribes.every((id) => ids.includes(id)));
    });

    test('has every library that the program is linked with, the parser and the hash', () => {
        const bill = JSON.parse(make());
        const needed = [...readelf('-d').matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name]) => name);
        assert.ok(needed.length > 5);
        const comments = bill.packages.flatMap(({ comment }) => comment?.split(', ') ?? []);
        for (const name of needed.filter((each) => !/^lib(c|m)\.so/.test(each)))
            assert.ok(comments.includes(`linked as ${name}`), `${name} is not in it`);
        for (const compiledIn of [/llhttp/, /xxhash/])
            assert.ok(bill.packages.some(({ name }) => compiledIn.test(name)), `${compiledIn} is not in it`);
        const own = bill.packages.find(({ name }) => name === 'antiphon');
        assert.equal(own.checksums[0].checksumValue, createHash('sha256').update(readFileSync(PROGRAM)).digest('hex'));
    });

    test('is the same when it is made again', () => assert.equal(make(), make()));
});
