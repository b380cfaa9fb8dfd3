/* sandbox_files.test.mjs -- files and images of the Python session inside a sandbox, over its
 * protocol (src/sandbox/PROTOCOL.md). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { folder } from '../lib/folder.mjs';
import { startRunner } from '../lib/runner.mjs';

/* One grey pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const write = (path, base64) => `import base64\nopen(${JSON.stringify(path)}, "wb").write(base64.b64decode(${JSON.stringify(base64)}))\n`;
const image = (path, base64, mime = 'image/png') => ({ mime, path, base64 });
const base64 = (text) => Buffer.from(text, 'latin1').toString('base64');
const paths = (answer) => answer.files.map((file) => file.path);

/* ---- files */

test('a run tells the files that are new or have changed, and no others', async (t) => {
    const runner = await startRunner(t);
    const before = Math.floor(Date.now() / 1000);
    const { files } = await runner.run('import os\nos.makedirs("sub/sub")\nopen("sub/sub/b", "w").write("four")\nopen("a", "w").close()');
    assert.deepEqual(files.map(({ path, bytes }) => [path, bytes]), [['a', 0], ['sub/sub/b', 4]]);
    assert.ok(files.every((file) => Number.isInteger(file.modified_at) && file.modified_at >= before));
    assert.deepEqual((await runner.run('1')).files, []);
    assert.deepEqual(paths(await runner.run('open("a", "a").write("x")')), ['a']);
    assert.deepEqual(paths(await runner.run('os.rename("sub/sub/b", "c"); os.remove("a")')), ['c']);
    assert.deepEqual(paths(await runner.ask('files')), ['c']);
});

test('files that are there from the beginning are listed, but not new', async (t) => {
    const runner = await startRunner(t);
    writeFileSync(join(runner.dir, 'given'), 'x');
    assert.deepEqual(paths(await runner.run('1')), ['given']);
    assert.deepEqual(paths(await runner.run('open("given").read()')), []);
    assert.deepEqual(paths(await runner.ask('files')), ['given']);
});

test('files are listed and read while code runs', async (t) => {
    const runner = await startRunner(t);
    const id = runner.request('run', { code: 'with open("a", "w") as f: f.write("text")\nopen("running", "w").close()\nwhile True: pass' });
    await runner.fileExists('running');
    assert.deepEqual(await runner.read('a'), { base64: base64('text') });
    runner.interrupt();
    assert.equal((await runner.next()).id, id);
});

test('a file is read up to the size asked for, and not beyond', async (t) => {
    const runner = await startRunner(t);
    writeFileSync(join(runner.dir, 'a'), Buffer.alloc(1000, 7));
    assert.deepEqual(await runner.read('a', 1000), { base64: Buffer.alloc(1000, 7).toString('base64') });
    assert.deepEqual(await runner.read('a', 999), { error: 'too_large' });
    truncateSync(join(runner.dir, 'a'), 2 ** 40);
    assert.deepEqual(await runner.read('a'), { error: 'too_large' });
});

test('links, folders, FIFOs and paths that lead out are neither listed nor read', async (t) => {
    const runner = await startRunner(t);
    const outside = folder(t);
    writeFileSync(join(outside, 'secret.png'), Buffer.from(PNG, 'base64'));
    symlinkSync(join(outside, 'secret.png'), join(runner.dir, 'link.png'));
    symlinkSync(outside, join(runner.dir, 'linked'));
    mkdirSync(join(runner.dir, 'sub'));
    execFileSync('mkfifo', [join(runner.dir, 'fifo.png')]);
    writeFileSync(join(runner.dir, 'sub', 'real'), 'x');
    const told = await runner.run('1');
    assert.deepEqual([paths(told), told.images], [['sub/real'], []]);
    const wrong = ['link.png', 'linked/secret.png', 'fifo.png', 'sub', 'none', '', '.', '/', '/etc/passwd', '../x', 'sub/../sub/real', 'sub//real', 'sub/real/x', 'a\0b', '\ud800', 'x'.repeat(5000)];
    for (const path of wrong)
        assert.deepEqual(await runner.read(path), { error: 'not_found' }, path);
    assert.deepEqual(await runner.read('sub/real'), { base64: base64('x') });
});

test('names may be any UTF-8; what is none is left out', async (t) => {
    const runner = await startRunner(t);
    const name = 'a "b"\n\u00e4\u{1f600}.txt';
    const told = await runner.run(`open(${JSON.stringify(name)}, "w").write("x")\nopen(b"\\xff", "w").close()`);
    assert.deepEqual(paths(told), [name]);
    assert.deepEqual(await runner.read(name), { base64: base64('x') });
});

test('too many files and folders that never end are cut short', async (t) => {
    const runner = await startRunner(t);
    const many = await runner.run('for i in range(1500): open(f"{i:04}", "w").close()');
    assert.equal(many.files.length, 1000);
    assert.equal(many.files[999].path, '0999');
    const deep = await runner.run('import os, shutil\nfor i in range(1500): os.remove(f"{i:04}")\nfor i in range(1500):\n    os.mkdir("d"); os.chdir("d")\n    open("f", "w").close()\nos.chdir("/")');
    assert.ok(deep.files.length > 200 && deep.files.every((file) => file.path.length <= 512));
});

/* ---- images */

test('image files of a run are handed over, by what they are', async (t) => {
    const runner = await startRunner(t);
    const gif = base64('GIF89a rest'), jpeg = base64('\xff\xd8\xff rest'), webp = base64('RIFF1234WEBP');
    const code = write('a.png', PNG) + write('b.gif', gif) + write('c.JPG', jpeg) + write('d.webp', webp)
        + write('e.png', jpeg) + write('text.png', base64('text')) + write('f.svg', base64('<svg/>')) + write('g', PNG) + write('empty.png', '');
    const { images, files } = await runner.run(code);
    assert.deepEqual(images, [image('a.png', PNG), image('b.gif', gif, 'image/gif'), image('c.JPG', jpeg, 'image/jpeg'), image('d.webp', webp, 'image/webp'), image('e.png', jpeg, 'image/jpeg')]);
    assert.equal(files.length, 9);
    assert.deepEqual((await runner.run('1')).images, []);
});

test('images that are too large, or too many, stay files', async (t) => {
    const runner = await startRunner(t, { image_bytes: 1000 });
    const padded = `open("p{i}.png", "wb").write(base64.b64decode("${PNG}").ljust({n}, b"x"))`;
    const large = await runner.run(`import base64\nn = 1001\ni = 0\n${padded.replace(/\{(\w)\}/g, '%s')}`.replace('"p%s.png"', 'f"p{i}.png"').replace('%s', 'n'));
    assert.deepEqual([large.images.length, paths(large)], [0, ['p0.png']]);
    const full = await runner.run(`for i in range(6): open(f"q{i}.png", "wb").write(base64.b64decode("${PNG}").ljust(1000, b"x"))`);
    assert.deepEqual([full.images.length, full.files.length], [3, 6]);
    const small = await runner.run(`for i in range(30): open(f"r{i}.png", "wb").write(base64.b64decode("${PNG}"))`);
    assert.deepEqual([small.images.length, small.files.length], [10, 30]);
});

test('without room for images there are none', async (t) => {
    const runner = await startRunner(t, { image_bytes: 0 });
    const { images, files, logs } = await runner.run(`${write('a.png', PNG)}class P:\n    def _repr_png_(self): return b"x"\nP()`);
    assert.deepEqual([images, files.length, logs], [[], 1, '']);
});

test('a value that draws itself is an image', async (t) => {
    const runner = await startRunner(t);
    const { images, value } = await runner.run(`import base64\nclass Picture:\n    def _repr_png_(self): return base64.b64decode("${PNG}")\n    def __repr__(self): return "picture"\nPicture()`);
    assert.deepEqual([images, value], [[image('', PNG)], 'picture']);
    assert.deepEqual((await runner.run('Picture')).images, []);
});

/* A stand-in for matplotlib.pyplot, with what the runner asks of it. */
const PYPLOT = `
import base64, os, sys, types
pyplot = types.ModuleType("matplotlib.pyplot")
png = base64.b64decode("${PNG}")
class Figure:
    def __init__(self, data): self.data = data
    def savefig(self, file, format):
        assert format == "png" and os.environ["MPLBACKEND"] == "Agg"
        file.write(self.data())
figures = {}
pyplot.get_fignums = lambda: list(figures)
pyplot.figure = lambda number: figures[number]
pyplot.close = lambda what: figures.clear()
sys.modules["matplotlib.pyplot"] = pyplot
`;

test('open figures of matplotlib are drawn and closed, once if they were saved', async (t) => {
    const runner = await startRunner(t);
    const other = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.from('other')]).toString('base64');
    const drawn = await runner.run(`${PYPLOT}figures[1] = Figure(lambda: png)\nfigures[2] = Figure(lambda: png + b"other")\nopen("saved.png", "wb").write(png)`);
    assert.deepEqual(drawn.images, [image('saved.png', PNG), image('', other)]);
    assert.deepEqual((await runner.run('figures')).value, '{}');
});

test('figures are drawn after an exception as well; one that cannot be is told', async (t) => {
    const runner = await startRunner(t);
    const drawn = await runner.run(`${PYPLOT}figures[1] = Figure(lambda: png)\n1 / 0`);
    assert.deepEqual([drawn.images, drawn.raised], [[image('', PNG)], true]);
    const broken = await runner.run('figures[1] = Figure(lambda: 1 / 0)\n5');
    assert.match(broken.logs, /ZeroDivisionError/);
    assert.deepEqual([broken.images, broken.value], [[], '5']);
    const large = await runner.run('figures[1] = Figure(lambda: b"x" * 70000)');
    assert.match(large.logs, /1 images? of more than 65536 bytes/);
    assert.deepEqual(large.images, []);
});
