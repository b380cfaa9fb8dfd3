/* clock.mjs -- gateways whose time of day is wrong, or is set while they run.
 *
 * libfaketime stands between the program and the time of day; the monotonic clock stays
 * what it is, as when an administrator sets the clock. With { all: true } it jumps as well, which
 * that of no machine does.
 */
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { folder } from './folder.mjs';

const LIBRARY = (() => {
    const places = existsSync('/usr/lib') ? readdirSync('/usr/lib').map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`) : [];
    return places.find((path) => existsSync(path));
})();

/* For `test(name, { skip: NO_FAKETIME }, ...)`. A sanitizer's library has to be the first. */
export const NO_FAKETIME = LIBRARY === undefined ? 'no libfaketime: install the package faketime'
    : /asan|tsan/.test(process.env.ANTIPHON_BIN ?? '') && 'libfaketime and a sanitizer do not get along';

/* A clock that is off by `offset` ("+1h", "-40d", "+0"): env for startDaemon(), and set(). */
export function clock(t, offset, { all = false } = {}) {
    const file = folder(t, 'faketime');
    const set = (text) => { /* at once: it is read at any time */
        writeFileSync(`${file}.new`, `${text}\n`);
        renameSync(`${file}.new`, file);
    };
    set(offset);
    return {
        set,
        env: {
            LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1',
            ...(!all && { FAKETIME_DONT_FAKE_MONOTONIC: '1' }),
        },
    };
}
