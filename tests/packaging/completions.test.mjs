/* completions.test.mjs -- what the shells themselves make of packaging/completions: bash, zsh and fish
 * are asked what would follow. A shell that is not installed is left out. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { ROOT } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';

const MADE = join(ROOT, 'build/release/completions');
const missing = (shell) => spawnSync(shell, ['--version']).status !== 0 && `no ${shell} here: install the package ${shell}`;

/* A program `antiphon` that knows two models, and a folder with one file. */
let dir, env;
before(() => {
    const made = spawnSync('make', ['-s', 'completions'], { cwd: ROOT, encoding: 'utf8', env: { ...process.env, MAKEFLAGS: '' } });
    assert.equal(made.status, 0, made.stderr);
    dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    mkdirSync(join(dir, 'bin'));
    mkdirSync(join(dir, 'etc'));
    writeFileSync(join(dir, 'bin/antiphon'), '#!/bin/sh\n[ "$1" = models ] && echo qwen3 && echo gemma && exit\nprintf "<%s>\\n" "$*"\n');
    chmodSync(join(dir, 'bin/antiphon'), 0o755);
    writeFileSync(join(dir, 'etc/gateway.json'), '{}');
    env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, HOME: dir, TERM: 'dumb', LC_ALL: 'C.UTF-8' };
});
after(() => rmSync(dir, { recursive: true }));

const run = (shell, args, options) => {
    const { status, stdout, stderr, error } = spawnSync(shell, args, { encoding: 'utf8', env, cwd: dir, timeout: patience(20_000), ...options });
    assert.equal(error, undefined);
    assert.equal(status, 0, stderr);
    return stdout;
};

/* What a person has typed, what is among the offers, and what is not. */
const CASES = [
    { typed: ['st'], has: ['store'], not: ['serve'] },
    { typed: [''], has: ['serve', 'health', 'models', 'doctor', 'store', 'mcp', 'key', 'sandbox', 'version'], not: ['stats', '--listen'] },
    { typed: ['store', ''], has: ['stats', 'purge', 'export', 'vacuum', 'backup', 'upgrade'], not: ['hash', 'serve'] },
    { typed: ['store', 'stats', '--j'], has: ['--json'], not: ['--older-than'] },
    { typed: ['store', 'purge', '--'], has: ['--older-than', '--trust-clock', '--store'], not: ['--json'] },
    { typed: ['store', 'purge', '--store-m'], has: ['--store-max', '--store-max-age'], not: ['--store'] },
    { typed: ['serve', '--no-store'], has: ['--no-store-sync', '--no-store-backup'], not: ['--store'] },
    { typed: ['doctor', '--'], has: ['--quick', '--json', '--all-forms', '--timeout', '--write', '--upstream'], not: ['--check-config'] },
    { typed: ['health', '--'], has: ['--config', '--listen'], not: ['--quick'] },
    { typed: ['upstreams', ''], has: ['drain', 'resume', 'check'], not: ['serve'] },
    { typed: ['keys', '--'], has: ['--json', '--config', '--listen'], not: ['--quick'] },
    { typed: ['upstreams', '--'], has: ['--json', '--config', '--listen'], not: ['--quick'] },
    { typed: ['upstreams', 'drain', '--'], has: ['--config', '--listen'], not: ['--check-config'] },
    { typed: ['serve', '--allow'], has: ['--allow-open'], not: ['--listen'] },
    { typed: ['serve', '--traces', ''], has: ['off', 'otlp'], not: ['serve'] },
    { typed: ['serve', '--che'], has: ['--check-config'], not: ['--listen'] },
    { typed: ['serve', '--relay', ''], has: ['off', 'common', 'all'], not: ['serve', '--listen'] },
    { typed: ['serve', '--upstream-kind', 'l'], has: ['llama.cpp', 'litellm', 'lmstudio'], not: ['vllm'] },
    { typed: ['serve', '--model', ''], has: ['qwen3', 'gemma'], not: ['serve'] },
    { typed: ['serve', '--config', 'etc/g'], has: ['etc/gateway.json'], not: [] },
    { typed: ['sandbox', 'run', 'etc/g'], has: ['etc/gateway.json'], not: [] },
    { typed: ['key', '--'], has: [], not: ['--listen'] },
];

function judge(offers, { typed, has, not }) {
    for (const word of has)
        assert.ok(offers.includes(word), `${word} is not offered behind ${typed.join(' ')}: ${offers.join(' ')}`);
    for (const word of not)
        assert.ok(!offers.includes(word), `${word} is offered behind ${typed.join(' ')}`);
}

describe('bash', () => {
    const SCRIPT = `source "$1"; shift; COMP_WORDS=(antiphon "$@"); COMP_CWORD=$#; _antiphon; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offers = (...typed) => run('bash', ['--norc', '-c', SCRIPT, 'bash', join(MADE, 'antiphon.bash'), ...typed]).split('\n').slice(0, -1);

    for (const each of CASES)
        test(`antiphon ${each.typed.join(' ')}`, () => judge(offers(...each.typed), each));

    test('--flag=value, which bash cuts in three', () => {
        assert.deepEqual(offers('serve', '--relay', '=', 'c'), ['common']);
        assert.deepEqual(offers('serve', '--relay', '=').toSorted(), ['all', 'common', 'off']);
    });
});

describe('fish', { skip: missing('fish') }, () => {
    const offers = (...typed) => run('fish', ['--no-config', '-c', `source ${join(MADE, 'antiphon.fish')}; complete -C "antiphon ${typed.join(' ')}"`])
        .split('\n').slice(0, -1).map((line) => line.split('\t')[0]);

    for (const each of CASES)
        test(`antiphon ${each.typed.join(' ')}`, () => judge(offers(...each.typed), each));
});

/* zsh completes only where somebody types: a terminal of zsh's own is filled, the function that adds
 * offers prints them. */
describe('zsh', { skip: missing('zsh') }, () => {
    const SCRIPT = `
zmodload zsh/zpty
zpty z zsh -f -i
inside() {
    PS1= PS2= RPS1=
    fpath=($MADE $fpath)
    autoload -Uz compinit; compinit -u -D
    bindkey '^M' undefined-key; bindkey '^J' undefined-key; bindkey '^I' complete-word
    print_offers() { compstate[list]= compstate[insert]= ; print -r -- END-OF-OFFERS }
    compadd() {
        if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
        typeset -ga __hits
        builtin compadd -A __hits "$@"
        (( $#__hits )) && print -rl -- '' "OFFER "$^IPREFIX$^__hits
        builtin compadd "$@"
    }
    comppostfuncs=(print_offers)
    compdef _antiphon antiphon
}
zpty -w z "MADE=$1; cd $2; source <(cat <<'INSIDE'
$(functions inside)
inside
INSIDE
); print READY-TO-TYPE"
while zpty -r z line && [[ $line != *READY-TO-TYPE* || $line == *'print READY'* ]]; do :; done
zpty -w -n z "$3"$'\\t'
while zpty -r z line && [[ $line != *END-OF-OFFERS* ]]; do print -r -- "$line"; done
zpty -d z
`;
    const offers = (...typed) => run('zsh', ['-f', '-c', SCRIPT, 'zsh', MADE, dir, `antiphon ${typed.join(' ')}`])
        .split(/\r?\n/).filter((line) => line.startsWith('OFFER ')).map((line) => line.slice('OFFER '.length).trim());

    /* Of a path it offers what is new. */
    for (const each of CASES)
        test(`antiphon ${each.typed.join(' ')}`, () => judge(offers(...each.typed), { ...each, has: each.has.map((word) => basename(word)) }));
});
