/* test_store_file.c -- what can be wrong with a SQLite file, and how it recovers.
 *
 * What changes limits or rights of the process happens in a child. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store_fixture.h"

static char dir[] = "/tmp/antiphon-file-XXXXXX";
static char path[128];
static char url[160];
static struct store_conf conf = {.url = url, .timeout_ms = 10000, .lock_ms = 30000};

static int file_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    (void)strcpy(dir + strlen(dir) - 6, "XXXXXX");
    if (f == NULL || mkdtemp(dir) == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/store.db", dir);
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    *state = f;
    return 0;
}

static int file_teardown(void **state)
{
    struct fixture *f = *state;

    store_session_close(f->s);
    arena_fini(&f->arena);
    free(f);
    return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, file_setup, file_teardown)

static void open_again(struct fixture *f)
{
    store_session_close(f->s);
    f->s = store_session_open(&conf, &f->err);
    if (f->s == NULL)
        print_error("%s\n", f->err.msg);
    assert_non_null(f->s);
}

static void assert_does_not_open(struct fixture *f, const char *words)
{
    assert_null(store_session_open(&conf, &f->err));
    assert_int_equal(f->err.code, ERR_STORE);
    if (strstr(f->err.msg, words) == NULL)
        print_error("\"%s\"\n", f->err.msg);
    assert_non_null(strstr(f->err.msg, words));
    assert_non_null(strstr(f->err.msg, url)); /* whoever starts the program sees which */
}

static void sql(const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* ---- opening */

static void what_was_stored_is_there_after_a_restart(void **state)
{
    struct fixture *f = *state;

    open_again(f);
    save(f, "r1", NULL, "<a >b");
    open_again(f);
    assert_context(f, "r1", "{a}{b}");
}

static void nobody_else_may_read_the_file(void **state)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    struct stat st;

    open_again(f);
    save(f, "r1", NULL, "<a");
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        assert_int_equal(stat(text(f, "%s%s", path, suffixes[i]).p, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void a_store_of_a_newer_version_is_refused_and_left_alone(void **state)
{
    struct fixture *f = *state;

    open_again(f);
    save(f, "r1", NULL, "<a");
    sql("UPDATE meta SET schema_version = 99, compatible_from = 98");
    assert_does_not_open(f, "newer version");
    assert_true(store_is_too_new(&f->err));
    sql("UPDATE meta SET schema_version = 99, compatible_from = 4");
    open_again(f);
    assert_context(f, "r1", "{a}");
}

static int64_t number(const char *query)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    int64_t n;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static void a_newer_store_that_may_be_used_keeps_its_version(void **state)
{
    struct fixture *f = *state;

    open_again(f);
    sql("UPDATE meta SET schema_version = 99, compatible_from = 4");
    open_again(f);
    save(f, "r1", NULL, "<a");
    assert_context(f, "r1", "{a}");
    assert_int_equal(number("SELECT schema_version FROM meta"), 99);
    assert_int_equal(number("SELECT compatible_from FROM meta"), 4);
}

/* ---- copies */

/* A store as version 3 has left it. */
static void make_older(void)
{
    sql("ALTER TABLE meta DROP COLUMN compatible_from; UPDATE meta SET schema_version = 3");
}

static bool is_there(const char *suffix)
{
    char name[256];
    struct stat st;

    (void)snprintf(name, sizeof(name), "%s%s", path, suffix);
    if (stat(name, &st) == -1)
        return false;
    assert_int_equal(st.st_mode & 0777, 0600);
    return true;
}

static void a_store_is_copied_before_it_is_migrated(void **state)
{
    struct fixture *f = *state;

    open_again(f);
    save(f, "r1", NULL, "<a");
    store_session_close(f->s);
    make_older();
    conf.backup = true;
    f->s = store_session_open(&conf, &f->err);
    conf.backup = false;
    assert_non_null(f->s);
    assert_int_equal(number("SELECT schema_version FROM meta"), 4);
    assert_true(is_there(".v3"));
    assert_false(is_there(".v3.partial"));

    store_session_close(f->s); /* one goes back to what was there */
    (void)snprintf(path + strlen(path), 8, ".v3");
    assert_int_equal(number("SELECT schema_version FROM meta"), 3);
    assert_int_equal(number("SELECT COUNT(*) FROM response"), 1);
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    f->s = store_session_open(&conf, &f->err);
    assert_non_null(f->s);
    assert_context(f, "r1", "{a}");
    assert_false(is_there(".v3"));
}

static void what_a_copy_has_left_is_replaced(void **state)
{
    struct fixture *f = *state;
    FILE *file;

    open_again(f);
    store_session_close(f->s);
    f->s = NULL;
    for (int i = 0; i < 2; i++) {
        file = fopen(text(f, "%s.v3%s", path, i == 0 ? ".partial" : "").p, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    make_older();
    conf.backup = true;
    f->s = store_session_open(&conf, &f->err);
    conf.backup = false;
    assert_non_null(f->s);
    (void)snprintf(path + strlen(path), 8, ".v3");
    assert_int_equal(number("SELECT schema_version FROM meta"), 3);
}

static void a_copy_that_cannot_be_made_leaves_the_tables(void **state)
{
    struct fixture *f = *state;

    open_again(f);
    store_session_close(f->s);
    f->s = NULL;
    make_older();
    assert_int_equal(mkdir(text(f, "%s.v3", path).p, 0700), 0);
    conf.backup = true;
    assert_does_not_open(f, "store_backup");
    conf.backup = false;
    assert_int_equal(number("SELECT schema_version FROM meta"), 3);
    assert_false(is_there(".v3.partial"));
}

static void tables_are_left_when_somebody_only_looks(void **state)
{
    struct store_schema schema;
    struct fixture *f = *state;

    conf.tables = STORE_AS_IT_IS;
    assert_does_not_open(f, "no table");
    conf.tables = STORE_MIGRATES;
    open_again(f);
    make_older();
    conf.tables = STORE_AS_IT_IS;
    assert_does_not_open(f, "antiphon store upgrade");
    assert_int_equal(number("SELECT schema_version FROM meta"), 3);
    conf.tables = STORE_UNREAD;
    open_again(f);
    assert_ok(store_schema(f->s, &schema, &f->err));
    assert_int_equal(schema.version, 3);
    assert_false(schema.is_usable);
    conf.tables = STORE_MIGRATES;
    open_again(f);
    conf.tables = STORE_AS_IT_IS;
    open_again(f);
    conf.tables = STORE_MIGRATES;
    assert_ok(store_schema(f->s, &schema, &f->err));
    assert_int_equal(schema.version, schema.writes);
    assert_true(schema.is_usable);
}

static void a_copy_is_of_one_moment_and_replaces_nothing(void **state)
{
    struct fixture *f = *state;
    str to = text(f, "%s.copy", path);

    open_again(f);
    save(f, "r1", NULL, "<a");
    assert_ok(store_copy(f->s, to.p, &f->err));
    save(f, "r2", "r1", "<b");
    assert_fails(store_copy(f->s, to.p, &f->err), ERR_INVALID_VALUE);
    assert_true(is_there(".copy"));
    assert_false(is_there(".copy.partial"));
    assert_fails(store_copy(f->s, text(f, "%s/no/where", dir).p, &f->err), ERR_STORE);
    (void)snprintf(path + strlen(path), 8, ".copy");
    assert_int_equal(number("SELECT COUNT(*) FROM response"), 1);
}

/* ---- what is no store */

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state)
{
    static const char words[] = "Dear diary, this is no database, however long it may become.";
    struct fixture *f = *state;
    char back[sizeof(words)] = "";
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        assert_true(fputs(words, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_does_not_open(f, "not a database");
    file = fopen(path, "r");
    assert_int_equal(fread(back, 1, sizeof(back) - 1, file), sizeof(back) - 1);
    assert_string_equal(back, words);
    assert_int_equal(fclose(file), 0);
}

static void a_directory_that_is_not_there_is_told(void **state)
{
    struct fixture *f = *state;

    (void)snprintf(url, sizeof(url), "sqlite:%s/nowhere/store.db", dir);
    assert_does_not_open(f, "folder");
}

static void a_url_of_no_known_kind_is_refused(void **state)
{
    static const char *const urls[] = {"", "sqlite:", "sqlite", "memory:", "mysql://u:secret@h/d"};
    struct fixture *f = *state;
    struct store_conf other = conf;

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        other.url = urls[i];
        assert_null(store_session_open(&other, &f->err));
        assert_int_equal(f->err.code, ERR_STORE);
        assert_non_null(strstr(f->err.msg, "sqlite:PATH"));
        assert_null(strstr(f->err.msg, "secret"));
        assert_null(store_open(&other, &f->err));
    }
}

/* ---- in a child */

/* Runs it in a process of its own, where a failed assertion is told by its status. */
static void in_child(struct fixture *f, bool (*run)(struct fixture *f))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0)
        _exit(run(f) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool told(const struct fixture *f, const char *words)
{
    if (f->err.code == ERR_STORE && strstr(f->err.msg, words) != NULL)
        return true;
    print_error("\"%s\"\n", f->err.msg);
    return false;
}

/* What is done to the files, as the shell's user, and what whoever starts the gateway is
 * told then. Root may write anything, so it becomes nobody first. */
static const struct obstacle {
    const char *what, *script, *words[3];
    bool of_others; /* only root can give files away */
} obstacles[] = {
    {"a folder that is not there", "rm -r $d", {"folder", "does not exist", "mkdir"}, false},
    {"a file where a folder should be",
     "rm -r $d && echo x >$d",
     {"is no folder", "another path"},
     false},
    {"a folder that may not be written",
     "rm -f store.db*; chmod 555 $d",
     {"folder", "mode 0555", "chmod"},
     false},
    {"the same with a file in it", "chmod 555 $d", {"folder", "mode 0555", "chmod"}, false},
    {"a folder that may not be entered",
     "chmod 600 $d",
     {"permissions of a folder", "from entering"},
     false},
    {"a file that may not be written",
     "chmod 444 store.db",
     {"store.db", "mode 0444", "chmod"},
     false},
    {"a file of another user", "chown 1 store.db", {"belongs to user", "uid 1", "chown"}, true},
    {"a log of another user",
     "touch store.db-wal; chmod 600 store.db-wal; chown 1 store.db-wal",
     {"store.db-wal", "belongs to user", "chown"},
     true},
    {"a folder in place of the file",
     "rm store.db && mkdir store.db",
     {"is a folder, not a file", "antiphon.db"},
     false},
    {"a pipe in place of the file", "rm store.db && mkfifo store.db", {"no regular file"}, false},
    {"a link to nothing", "rm store.db && ln -s nowhere/x store.db", {"is a link"}, false},
};

static const struct obstacle *obstacle;

static bool told_all(const struct fixture *f)
{
    for (size_t i = 0; i < COUNT_OF(obstacle->words) && obstacle->words[i] != NULL; i++) {
        if (!told(f, obstacle->words[i]))
            return false;
    }
    return true;
}

static bool open_without_rights(struct fixture *f)
{
    enum { NOBODY = 65534 };

    if (geteuid() == 0 && seteuid(NOBODY) == -1)
        return false;
    f->s = store_session_open(&conf, &f->err);
    return f->s == NULL && told(f, url) && told_all(f);
}

/* In the folder $d of its own, which is nobody's where root runs the tests. */
static void lay(const struct obstacle *o)
{
    char script[1024];

    (void)snprintf(script, sizeof(script),
                   "set -e; cd %s; d=%s/sub; mkdir $d; cd $d; mv ../store.db .; "
                   "[ $(id -u) != 0 ] || chown -R 65534 %s; "
                   "%s",
                   dir, dir, dir, o->script);
    assert_int_equal(system(script), 0);
}

static void the_cause_is_told_when_a_file_cannot_be_opened(void **state)
{
    struct fixture *f;

    assert_int_equal(file_teardown(state), 0);
    for (size_t i = 0; i < COUNT_OF(obstacles); i++) {
        obstacle = &obstacles[i];
        if (obstacle->of_others && geteuid() != 0)
            continue;
        assert_int_equal(file_setup(state), 0);
        f = *state;
        open_again(f);
        store_session_close(f->s);
        f->s = NULL;
        lay(obstacle);
        (void)snprintf(url, sizeof(url), "sqlite:%s/sub/store.db", dir);
        print_message("%s\n", obstacle->what);
        in_child(f, open_without_rights);
        (void)chmod(text(f, "%s/sub", dir).p, 0755); /* if it is there */
        assert_int_equal(file_teardown(state), 0);
    }
    assert_int_equal(file_setup(state), 0);
}

static int save_number(struct fixture *f, int i)
{
    struct store_response r = response_from(f, text(f, "r%d", i).p, NULL, "<a >b");

    r.head = str_from_c("a head of some length, since nothing but a full page is written: "
                        "................................................................");
    return store_save_response(f->s, alice, &r, &f->err);
}

static bool is_stored(struct fixture *f, int i)
{
    struct store_response r;

    return store_get_response(f->s, alice, text(f, "r%d", i), &f->arena, &r, &f->err) == 0;
}

static bool limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* Saves until there is no more room, then makes some. */
static bool fill_the_disk(struct fixture *f)
{
    enum { FULL_BYTES = 256 * 1024, MANY = 10000 };
    int n = 0;

    f->s = store_session_open(&conf, &f->err);
    if (f->s == NULL || !limit_files(FULL_BYTES))
        return false;
    while (n < MANY && save_number(f, n) == 0)
        n++;
    if (n == 0 || n == MANY || !(told(f, "disk")) || save_number(f, n) == 0 || is_stored(f, n))
        return false;
    if (!limit_files(RLIM_INFINITY) || save_number(f, n) == -1)
        return false;
    for (int i = 0; i <= n; i++) {
        if (!is_stored(f, i))
            return false;
    }
    store_session_close(f->s);
    return true;
}

static void a_full_disk_is_told_and_overcome(void **state)
{
    struct fixture *f = *state;

    in_child(f, fill_the_disk);
    open_again(f);
    assert_context(f, "r0", "{a}{b}");
}

static bool open_and_save(struct fixture *f)
{
    f->s = store_session_open(&conf, &f->err);
    if (f->s == NULL || save_number(f, (int)getpid()) == -1) {
        print_error("%s\n", f->err.msg);
        return false;
    }
    return true;
}

static void processes_that_start_together_make_one_schema(void **state)
{
    enum { PROCESSES = 8 };
    struct fixture *f = *state;
    pid_t pids[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_int_not_equal(pids[i], -1);
        if (pids[i] == 0)
            _exit(open_and_save(f) ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    open_again(f);
    assert_int_equal(stats(f).n_responses, PROCESSES);
}

/* ---- others at work */

static void a_file_that_another_process_writes_is_waited_for_and_told(void **state)
{
    struct fixture *f = *state;
    sqlite3 *other;

    open_again(f);
    store_session_close(f->s);
    conf.timeout_ms = 20;
    f->s = store_session_open(&conf, &f->err);
    conf.timeout_ms = 10000;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_fails(save_number(f, 1), ERR_STORE);
    assert_non_null(strstr(f->err.msg, "Another process"));
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_ok(save_number(f, 1));
}

static void a_damaged_file_is_told(void **state)
{
    struct fixture *f = *state;
    char junk[4096];
    int fd;

    open_again(f);
    for (int i = 0; i < 300; i++)
        assert_ok(save_number(f, i));
    store_session_close(f->s);
    f->s = NULL;
    memset(junk, 0x5a, sizeof(junk));
    fd = open(path, O_WRONLY);
    for (off_t page = 24; page < 60; page++) /* behind what is read at once, in the tables */
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * (off_t)sizeof(junk)), sizeof(junk));
    close(fd);
    f->s = store_session_open(&conf, &f->err); /* which reads a few of them, or none */
    for (int i = 0; f->s != NULL && f->err.code != ERR_STORE && i < 300; i++)
        (void)is_stored(f, i);
    assert_true(told(f, "damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILE(what_was_stored_is_there_after_a_restart),
        ON_FILE(nobody_else_may_read_the_file),
        ON_FILE(a_store_of_a_newer_version_is_refused_and_left_alone),
        ON_FILE(a_newer_store_that_may_be_used_keeps_its_version),
        ON_FILE(a_store_is_copied_before_it_is_migrated),
        ON_FILE(what_a_copy_has_left_is_replaced),
        ON_FILE(a_copy_that_cannot_be_made_leaves_the_tables),
        ON_FILE(tables_are_left_when_somebody_only_looks),
        ON_FILE(a_copy_is_of_one_moment_and_replaces_nothing),
        ON_FILE(a_file_that_is_no_database_is_refused_and_left_alone),
        ON_FILE(a_directory_that_is_not_there_is_told),
        ON_FILE(a_url_of_no_known_kind_is_refused),
        ON_FILE(the_cause_is_told_when_a_file_cannot_be_opened),
        ON_FILE(a_full_disk_is_told_and_overcome),
        ON_FILE(processes_that_start_together_make_one_schema),
        ON_FILE(a_file_that_another_process_writes_is_waited_for_and_told),
        ON_FILE(a_damaged_file_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
