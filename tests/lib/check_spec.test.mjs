/* check_spec.test.mjs -- tools/check-spec finds citations of what a specification has not, in every
 * form in which they are written, and leaves all else alone. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { ROOT } from './daemon.mjs';
import { folder } from './folder.mjs';

/* Words that no file of ours has, so that this one cites nothing itself. */
const HEADINGS = ['# RED: one', '', '## 1. Part', '', '### 1.1 First', '', '1. this', '2. that', '', '### 1.10 Tenth', ''];
const PARAGRAPHS = ['# BLUE: another', '', '## 2. Part', '', '**2.5** Either (a) this or (b) that.', '', '**2.6** More.', ''];

/* What it says of a file with this text, each line without the path. */
function findings(t, text, pages = { 'red.md': HEADINGS, 'blue.md': PARAGRAPHS, 'README.md': ['# Words'] }) {
    const dir = folder(t), spec = join(dir, 'spec'), file = join(dir, 'file.c');
    mkdirSync(spec);
    for (const [name, lines] of Object.entries(pages))
        writeFileSync(join(spec, name), lines.join('\n'));
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync('tools/check-spec', ['--spec', spec, file], { cwd: ROOT, encoding: 'utf8' });
    const lines = stdout.split('\n').filter((line) => line !== '').map((line) => line.replace(`${file}:`, '').replaceAll(`${spec}/`, ''));
    assert.equal(status, lines.length > 0 || stderr !== '' ? 1 : 0);
    return stderr === '' ? lines : stderr.trim().replaceAll(`${spec}/`, '');
}

const good = {
    'a section, a clause, a paragraph': 'RED 1, RED 1.1, BLUE 2.5.',
    'a rule': '(RED 1.1 rule 2)',
    'a letter': '(BLUE 2.5 (b)).',
    'several': 'RED 1, 1.1 rule 1, 1.10; BLUE 2.5 and 2.6',
    'a range': 'BLUE 2.5 to 2.6,',
    'a comment that goes on': '/* so it is (RED\n * 1.1 rule\n * 2). */',
    'words and numbers behind one': 'RED 1.1, with 9 of them; BLUE 2.6: 404',
    'dates and versions': 'RED 2026-07-28, RED 9.9.9, RED is 7, INFRARED 9.9',
};
for (const [what, text] of Object.entries(good))
    test(`passes: ${what}`, (t) => assert.deepEqual(findings(t, text), []));

const bad = {
    'no such section': ['\n\nRED 7', '3: RED 7: red.md has no clause 7'],
    'no such clause': ['// (RED 1.2)', '1: RED 1.2: red.md has no clause 1.2'],
    'no such paragraph': ['BLUE 2.7', '1: BLUE 2.7: blue.md has no clause 2.7'],
    'no such rule': ['RED 1.1 rule 3', '1: RED 1.1 rule 3: clause 1.1 in red.md has no point 3'],
    'a rule of another clause': ['RED 1.10 rule 1', '1: RED 1.10 rule 1: clause 1.10 in red.md has no point 1'],
    'no such letter': ['BLUE 2.5 (c)', '1: BLUE 2.5 (c): clause 2.5 in blue.md has no point c'],
    'one of several': ['RED 1.1, 1.2', '1: RED 1.1, 1.2: red.md has no clause 1.2'],
    'the end of a range': ['RED 1.1 to 1.9', '1: RED 1.1 to 1.9: red.md has no clause 1.9'],
    'in the next line': [' * (RED\n * 4.4)', '1: RED 4.4: red.md has no clause 4.4'],
    'of another page': ['RED 1.1; BLUE 1.1', '1: BLUE 1.1: blue.md has no clause 1.1'],
    'small letters': ['(red 1.1)', '1: red 1.1: write RED 1.1'],
    'another form': ['RED section 1', '1: RED section 1: write RED 1'],
};
for (const [what, [text, finding]] of Object.entries(bad))
    test(`fails: ${what}`, (t) => assert.deepEqual(findings(t, text), [finding]));

test('a clause that stands there twice is a mistake of the specification', (t) => {
    assert.equal(findings(t, '', { 'red.md': [...HEADINGS, '### 1.1 Again'] }), 'red.md:12: clause 1.1 stands there twice');
});

test('a folder without pages is no specification', (t) => {
    assert.match(findings(t, '', {}), /has no page/);
});
