/* A library for c_library.erl: what the functions of the interface answer, as terms. */

#include <erl_nif.h>
#include <stdio.h>
#include <string.h>

static ErlNifResourceType *boxes;
static int gone;

struct box {
    int value;
};

static void box_gone(ErlNifEnv *env, void *object)
{
    (void)env;
    gone += ((struct box *)object)->value;
}

static ERL_NIF_TERM atom(ErlNifEnv *env, const char *name) { return enif_make_atom(env, name); }
static ERL_NIF_TERM truth(ErlNifEnv *env, int is) { return atom(env, is ? "true" : "false"); }

#define NIF(name) static ERL_NIF_TERM name(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])

NIF(kinds)
{
    (void)argc;
    ERL_NIF_TERM x = argv[0];
    return enif_make_list(env, 12, truth(env, enif_is_atom(env, x)), truth(env, enif_is_binary(env, x)), truth(env, enif_is_list(env, x)),
        truth(env, enif_is_empty_list(env, x)), truth(env, enif_is_tuple(env, x)), truth(env, enif_is_number(env, x)),
        truth(env, enif_is_fun(env, x)), truth(env, enif_is_pid(env, x)), truth(env, enif_is_port(env, x)), truth(env, enif_is_ref(env, x)),
        truth(env, enif_is_map(env, x)), enif_make_int(env, enif_term_type(env, x)));
}

NIF(numbers)
{
    (void)argc;
    int i;
    unsigned u;
    long l;
    unsigned long ul;
    double d;
    ERL_NIF_TERM none = atom(env, "none"), x = argv[0];
    return enif_make_tuple5(env, enif_get_int(env, x, &i) ? enif_make_int(env, i) : none, enif_get_uint(env, x, &u) ? enif_make_uint(env, u) : none,
        enif_get_long(env, x, &l) ? enif_make_long(env, l) : none, enif_get_ulong(env, x, &ul) ? enif_make_ulong(env, ul) : none,
        enif_get_double(env, x, &d) ? enif_make_double(env, d) : none);
}

NIF(no_float) { (void)argc, (void)argv; return enif_make_double(env, 1e308 * 10); }

NIF(atoms)
{
    (void)argc;
    char text[20];
    unsigned length = 99, length8 = 99;
    ERL_NIF_TERM there;
    int got = enif_get_atom(env, argv[0], text, sizeof text, ERL_NIF_LATIN1);
    int is1 = enif_get_atom_length(env, argv[0], &length, ERL_NIF_LATIN1);
    return enif_make_tuple5(env, enif_make_int(env, got), got ? enif_make_string(env, text, ERL_NIF_LATIN1) : atom(env, "none"),
        is1 ? enif_make_uint(env, length) : atom(env, "none"), enif_make_uint(env, length8),
        truth(env, enif_make_existing_atom(env, "no such atom is there, surely", &there, ERL_NIF_LATIN1)));
}

NIF(long_atom)
{
    (void)argc, (void)argv;
    char name[300];
    memset(name, 'a', sizeof name);
    return enif_make_atom_len(env, name, sizeof name);
}

NIF(strings)
{
    char text[10];
    unsigned size;
    (void)argc;
    if (!enif_get_uint(env, argv[1], &size) || size > sizeof text)
        return enif_make_badarg(env);
    int got = enif_get_string(env, argv[0], text, size, ERL_NIF_LATIN1);
    return enif_make_tuple2(env, enif_make_int(env, got), got ? enif_make_string(env, text, ERL_NIF_LATIN1) : atom(env, "none"));
}

NIF(turned)
{
    (void)argc;
    const ERL_NIF_TERM *elements;
    ERL_NIF_TERM turned[8], list;
    int arity;
    unsigned length;
    if (enif_get_tuple(env, argv[0], &arity, &elements) && arity <= 8) {
        for (int i = 0; i < arity; i++)
            turned[i] = elements[arity - 1 - i];
        return enif_make_tuple_from_array(env, turned, arity);
    }
    if (enif_get_list_length(env, argv[0], &length) && enif_make_reverse_list(env, argv[0], &list))
        return enif_make_tuple2(env, enif_make_uint(env, length), list);
    return enif_raise_exception(env, enif_make_tuple2(env, atom(env, "neither"), argv[0]));
}

NIF(bytes)
{
    (void)argc;
    ErlNifBinary in, out;
    if (!enif_inspect_iolist_as_binary(env, argv[0], &in))
        return enif_make_badarg(env);
    enif_alloc_binary(in.size, &out);
    for (size_t i = 0; i < in.size; i++)
        out.data[i] = in.data[in.size - 1 - i];
    enif_realloc_binary(&out, in.size + 2);
    memcpy(out.data + in.size, "!!", 2);
    ERL_NIF_TERM fresh, made = enif_make_binary(env, &out);
    memset(enif_make_new_binary(env, 3, &fresh), '.', 3);
    return enif_make_tuple3(env, truth(env, enif_inspect_binary(env, argv[0], &in)), made, fresh);
}

NIF(part)
{
    (void)argc;
    unsigned start, size;
    if (!enif_get_uint(env, argv[1], &start) || !enif_get_uint(env, argv[2], &size))
        return enif_make_badarg(env);
    return enif_make_sub_binary(env, argv[0], start, size);
}

NIF(maps)
{
    (void)argc;
    ErlNifMapIterator iterator;
    ERL_NIF_TERM key, value, put, updated, removed, sum = enif_make_list(env, 0);
    size_t size;
    if (!enif_get_map_size(env, argv[0], &size) || !enif_map_iterator_create(env, argv[0], &iterator, ERL_NIF_MAP_ITERATOR_FIRST))
        return enif_make_badarg(env);
    for (; enif_map_iterator_get_pair(env, &iterator, &key, &value); enif_map_iterator_next(env, &iterator))
        sum = enif_make_list_cell(env, enif_make_tuple2(env, key, value), sum);
    int at_end = enif_map_iterator_is_tail(env, &iterator);
    enif_map_iterator_destroy(env, &iterator);
    ERL_NIF_TERM a = atom(env, "a");
    enif_make_map_put(env, argv[0], a, a, &put);
    int has = enif_make_map_update(env, argv[0], a, enif_make_int(env, 0), &updated);
    enif_make_map_remove(env, argv[0], a, &removed);
    return enif_make_tuple7(env, enif_make_ulong(env, size), sum, truth(env, at_end), put, has ? updated : atom(env, "none"), removed,
        truth(env, enif_get_map_value(env, argv[0], a, &value)));
}

NIF(compared)
{
    (void)argc;
    int order = enif_compare(argv[0], argv[1]);
    return enif_make_tuple2(env, enif_make_int(env, (order > 0) - (order < 0)), truth(env, enif_is_identical(argv[0], argv[1])));
}

NIF(printed)
{
    (void)argc;
    char text[200];
    int length = enif_snprintf(text, sizeof text, "%T|%5d|%-4s|%lx|%.2f|%c|%%|%T", argv[0], 42, "ab", 255L, 1.5, 'x', argv[0]);
    return enif_make_tuple2(env, enif_make_int(env, length), enif_make_string(env, text, ERL_NIF_LATIN1));
}

NIF(badarg) { (void)argc, (void)argv; enif_make_badarg(env); return enif_make_int(env, 0); }

NIF(pending)
{
    (void)argc;
    ERL_NIF_TERM reason, raised = enif_raise_exception(env, argv[0]);
    int is = enif_is_exception(env, raised), has = enif_has_pending_exception(env, &reason);
    return is && has && enif_is_identical(reason, argv[0]) ? raised : argv[0];
}

NIF(box)
{
    (void)argc;
    struct box *box = enif_alloc_resource(boxes, sizeof *box);
    if (!enif_get_int(env, argv[0], &box->value))
        box->value = 0;
    ERL_NIF_TERM term = enif_make_resource(env, box);
    enif_release_resource(box);
    return term;
}

NIF(boxed)
{
    (void)argc;
    void *box;
    return enif_get_resource(env, argv[0], boxes, &box)
        ? enif_make_tuple2(env, enif_make_int(env, ((struct box *)box)->value), enif_make_ulong(env, enif_sizeof_resource(box)))
        : atom(env, "none");
}

NIF(boxes_gone) { (void)argc, (void)argv; return enif_make_int(env, gone); }

NIF(tell)
{
    (void)argc;
    ErlNifPid to;
    if (!enif_get_local_pid(env, argv[0], &to) && !enif_whereis_pid(env, argv[0], &to))
        return atom(env, "nobody");
    ErlNifEnv *own = enif_alloc_env();
    ERL_NIF_TERM copy = enif_make_copy(own, argv[1]), message = enif_make_tuple2(own, atom(own, "own"), copy);
    int sent = enif_send(env, &to, own, message);
    /* What is not sent is still there. */
    ErlNifPid self;
    if (!sent && enif_self(env, &self))
        enif_send(env, &self, own, message);
    enif_clear_env(own);
    enif_free_env(own);
    int again = enif_send(env, &to, NULL, enif_make_tuple2(env, atom(env, "callers"), argv[1]));
    return enif_make_tuple3(env, truth(env, sent), truth(env, again), truth(env, enif_is_process_alive(env, &to)));
}

static void *tells(void *to)
{
    ErlNifEnv *own = enif_alloc_env();
    int sent = enif_send(NULL, to, own, enif_make_string(own, "from a thread", ERL_NIF_LATIN1));
    enif_free_env(own);
    return sent ? to : NULL;
}

NIF(thread)
{
    (void)argc, (void)argv;
    ErlNifTid thread;
    ErlNifPid self;
    void *result;
    enif_self(env, &self);
    if (enif_thread_create("teller", &thread, tells, &self, NULL) || enif_thread_join(thread, &result))
        return enif_make_badarg(env);
    return truth(env, result == &self);
}

/* Counts down: a call for each step, the last one on a dirty scheduler. */
NIF(count)
{
    int left, steps;
    if (!enif_get_int(env, argv[0], &left) || !enif_get_int(env, argv[1], &steps))
        return enif_make_badarg(env);
    if (left == 0)
        return enif_make_tuple2(env, enif_make_int(env, steps), argv[2]);
    ERL_NIF_TERM next[] = {enif_make_int(env, left - 1), enif_make_int(env, steps + 1), enif_make_list_cell(env, argv[0], argv[2])};
    enif_consume_timeslice(env, 10);
    return enif_schedule_nif(env, "count", left == 1 ? ERL_NIF_DIRTY_JOB_CPU_BOUND : 0, count, argc, next);
}

/* The same, each step on the other kind of dirty scheduler. */
NIF(bounce)
{
    int left, steps;
    if (!enif_get_int(env, argv[0], &left) || !enif_get_int(env, argv[1], &steps))
        return enif_make_badarg(env);
    if (left == 0)
        return enif_make_int(env, steps);
    ERL_NIF_TERM next[] = {enif_make_int(env, left - 1), enif_make_int(env, steps + 1)};
    return enif_schedule_nif(env, "bounce", left % 3 == 0 ? 0 : left % 3 == 1 ? ERL_NIF_DIRTY_JOB_IO_BOUND : ERL_NIF_DIRTY_JOB_CPU_BOUND, bounce, argc, next);
}

NIF(dirty)
{
    (void)argc;
    ErlNifBinary in;
    if (!enif_inspect_binary(env, argv[0], &in))
        return enif_make_badarg(env);
    return enif_make_tuple2(env, enif_make_ulong(env, in.size), argv[0]);
}

NIF(external)
{
    (void)argc;
    ErlNifBinary bytes;
    ERL_NIF_TERM term;
    enif_term_to_binary(env, argv[0], &bytes);
    size_t used = enif_binary_to_term(env, bytes.data, bytes.size, &term, 0);
    int all = used == bytes.size;
    enif_release_binary(&bytes);
    return enif_make_tuple3(env, truth(env, all), term, enif_make_ulong(env, enif_binary_to_term(env, (unsigned char *)"\203no", 3, &term, 0)));
}

NIF(private) { (void)argc, (void)argv; return enif_make_string(env, enif_priv_data(env), ERL_NIF_LATIN1); }

/* Watches processes, and tells its owner of their ends. */
struct watcher {
    ErlNifPid owner;
    ErlNifMonitor monitors[8];
    int watched;
};

static ErlNifResourceType *watchers, *deaf;

static void process_down(ErlNifEnv *env, void *object, ErlNifPid *pid, ErlNifMonitor *monitor)
{
    struct watcher *watcher = object;
    int i = 0;
    while (i < watcher->watched && enif_compare_monitors(monitor, &watcher->monitors[i]) != 0)
        i++;
    ErlNifEnv *own = enif_alloc_env();
    enif_send(env, &watcher->owner, own, enif_make_tuple4(own, atom(own, "down"), enif_make_int(own, i), enif_make_pid(own, pid),
        truth(own, enif_is_process_alive(env, pid) || enif_self(env, pid) != NULL)));
    enif_free_env(own);
}

static void called(ErlNifEnv *env, void *object, void *data)
{
    (void)env;
    *(int *)data += ((struct watcher *)object)->watched;
}

NIF(watcher)
{
    (void)argc, (void)argv;
    struct watcher *watcher = enif_alloc_resource(watchers, sizeof *watcher);
    watcher->watched = 0;
    enif_self(env, &watcher->owner);
    ERL_NIF_TERM term = enif_make_resource(env, watcher);
    enif_release_resource(watcher);
    return term;
}

NIF(watch)
{
    (void)argc;
    void *object;
    ErlNifPid pid;
    if (!enif_get_resource(env, argv[0], watchers, &object) || !enif_get_local_pid(env, argv[1], &pid))
        return enif_make_badarg(env);
    struct watcher *watcher = object;
    ErlNifMonitor *monitor = &watcher->monitors[watcher->watched];
    int code = enif_monitor_process(env, watcher, &pid, monitor);
    if (code != 0)
        return enif_make_int(env, code);
    watcher->watched++;
    return enif_make_monitor_term(env, monitor);
}

NIF(unwatch)
{
    (void)argc;
    void *object;
    int i;
    if (!enif_get_resource(env, argv[0], watchers, &object) || !enif_get_int(env, argv[1], &i))
        return enif_make_badarg(env);
    return enif_make_int(env, enif_demonitor_process(env, object, &((struct watcher *)object)->monitors[i]));
}

/* What monitors and dynamic calls answer that are not possible. */
NIF(unwatched)
{
    (void)argc, (void)argv;
    ErlNifPid pid;
    enif_self(env, &pid);
    void *object = enif_alloc_resource(deaf, 1);
    int code = enif_monitor_process(env, object, &pid, NULL), data = 0;
    ERL_NIF_TERM term = enif_make_resource(env, object), module = argv[0];
    enif_release_resource(object);
    ErlNifPid nobody;
    enif_set_pid_undefined(&nobody);
    void *watcher = enif_alloc_resource(watchers, sizeof(struct watcher));
    int code2 = enif_monitor_process(env, watcher, &nobody, NULL);
    enif_release_resource(watcher);
    return enif_make_tuple5(env, truth(env, code < 0), truth(env, code2 > 0), truth(env, enif_dynamic_resource_call(env, module, atom(env, "deaf"), term, &data)),
        truth(env, enif_dynamic_resource_call(env, module, atom(env, "watcher"), term, &data)), truth(env, enif_dynamic_resource_call(env, module, atom(env, "none"), term, &data)));
}

NIF(dynamic)
{
    (void)argc;
    int data = 100, code = enif_dynamic_resource_call(env, argv[0], atom(env, "watcher"), argv[1], &data);
    return enif_make_tuple2(env, enif_make_int(env, code), enif_make_int(env, data));
}

/* A binary of a box's bytes, which keeps it. */
NIF(box_bytes)
{
    (void)argc;
    struct box *box = enif_alloc_resource(boxes, 200);
    memset(box, 'b', 200);
    if (!enif_get_int(env, argv[0], &box->value))
        box->value = 0;
    ERL_NIF_TERM term = enif_make_resource_binary(env, box, (char *)box + sizeof *box, 200 - sizeof *box);
    enif_release_resource(box);
    return term;
}

NIF(unique)
{
    int properties;
    (void)argc;
    return enif_get_int(env, argv[0], &properties) ? enif_make_unique_integer(env, properties) : enif_make_badarg(env);
}

NIF(times) { (void)argc, (void)argv; return enif_make_tuple2(env, enif_cpu_time(env), enif_now_time(env)); }

NIF(variable)
{
    (void)argc;
    char name[50], value[50];
    size_t room;
    if (!enif_get_string(env, argv[0], name, sizeof name, ERL_NIF_LATIN1) || !enif_get_ulong(env, argv[1], &room))
        return enif_make_badarg(env);
    int code = enif_getenv(name, value, &room);
    return code == 0 ? enif_make_tuple2(env, enif_make_ulong(env, room), enif_make_string(env, value, ERL_NIF_LATIN1)) : enif_make_int(env, code);
}

static void *exits(void *kind)
{
    *(int *)kind = enif_thread_type();
    enif_thread_exit(kind);
    return NULL;
}

NIF(thread_types)
{
    (void)argc, (void)argv;
    ErlNifTid thread;
    int kind = 9;
    void *result;
    if (enif_thread_create("exits", &thread, exits, &kind, NULL) || enif_thread_join(thread, &result) || result != &kind)
        return enif_make_badarg(env);
    return enif_make_tuple2(env, enif_make_int(env, enif_thread_type()), enif_make_int(env, kind));
}

NIF(port)
{
    (void)argc;
    ErlNifPort port;
    if (!enif_get_local_port(env, argv[0], &port))
        return enif_make_badarg(env);
    ErlNifEnv *own = enif_alloc_env();
    int alive = enif_is_port_alive(env, &port), sent = enif_port_command(env, &port, NULL, argv[1]);
    int again = enif_port_command(env, &port, own, enif_make_string(own, "own", ERL_NIF_LATIN1));
    enif_free_env(own);
    return enif_make_tuple3(env, truth(env, alive), truth(env, sent), truth(env, again));
}

/* What a queue has: its size, the bytes and the number of its pieces, and its first one. */
static ERL_NIF_TERM queued(ErlNifEnv *env, ErlNifIOQueue *queue)
{
    int count = 77;
    SysIOVec *pieces = enif_ioq_peek(queue, &count);
    ErlNifBinary all;
    size_t at = 0, size = enif_ioq_size(queue), first = 77;
    enif_alloc_binary(size, &all);
    for (int i = 0; i < count; at += pieces[i++].iov_len)
        memcpy(all.data + at, pieces[i].iov_base, pieces[i].iov_len);
    ERL_NIF_TERM head, bytes = enif_make_binary(env, &all);
    if (!enif_ioq_peek_head(env, queue, &first, &head))
        head = atom(env, "none");
    return enif_make_tuple5(env, enif_make_ulong(env, size), bytes, enif_make_int(env, count), enif_make_ulong(env, first), head);
}

/* Does one thing to a queue; the answer. */
static ERL_NIF_TERM queue_step(ErlNifEnv *env, ErlNifIOQueue *queue, ERL_NIF_TERM step)
{
    const ERL_NIF_TERM *parts;
    int arity, most;
    char what[10];
    unsigned long skip;
    ErlNifBinary binary, copy;
    ERL_NIF_TERM rest;
    ErlNifIOVec vector, *to = NULL;
    if (!enif_get_tuple(env, step, &arity, &parts) || arity != 4 || !enif_get_atom(env, parts[0], what, sizeof what, ERL_NIF_LATIN1)
        || !enif_get_ulong(env, parts[2], &skip) || !enif_get_int(env, parts[3], &most))
        return atom(env, "wrong");
    if (strcmp(what, "take") == 0) {
        size_t left = 77;
        int taken = enif_ioq_deq(queue, skip, &left);
        return enif_make_tuple2(env, truth(env, taken), enif_make_ulong(env, left));
    }
    if (strcmp(what, "looked") == 0)
        return enif_inspect_binary(env, parts[1], &binary) ? truth(env, enif_ioq_enq_binary(queue, &binary, skip)) : atom(env, "badarg");
    if (strcmp(what, "owned") == 0) {
        if (!enif_inspect_binary(env, parts[1], &binary))
            return atom(env, "badarg");
        enif_alloc_binary(binary.size, &copy);
        memcpy(copy.data, binary.data, binary.size);
        return truth(env, enif_ioq_enq_binary(queue, &copy, skip));
    }
    int lasts = strcmp(what, "lasting") == 0;
    if (strcmp(what, "small") == 0)
        to = &vector;
    if (!enif_inspect_iovec(lasts ? NULL : env, most, parts[1], &rest, &to))
        return atom(env, "badarg");
    ERL_NIF_TERM answer = enif_make_tuple4(env, truth(env, enif_ioq_enqv(queue, to, skip)), enif_make_int(env, to->iovcnt), enif_make_ulong(env, to->size), rest);
    if (lasts)
        enif_free_iovec(to);
    return answer;
}

NIF(queue)
{
    (void)argc;
    ErlNifIOQueue *queue = enif_ioq_create(ERL_NIF_IOQ_NORMAL);
    ERL_NIF_TERM head, rest = argv[0], answers = enif_make_list(env, 0);
    while (enif_get_list_cell(env, rest, &head, &rest)) {
        ERL_NIF_TERM answer = queue_step(env, queue, head);
        answers = enif_make_list_cell(env, enif_make_tuple2(env, answer, queued(env, queue)), answers);
    }
    enif_ioq_destroy(queue);
    return enif_make_tuple2(env, truth(env, enif_ioq_create(7) == NULL), answers);
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    ErlNifResourceFlags tried;
    int code;
    boxes = enif_open_resource_type(env, NULL, "box", box_gone, ERL_NIF_RT_CREATE, &tried);
    ErlNifResourceTypeInit init = {.down = process_down, .members = 4, .dyncall = called}, none = {0};
    watchers = enif_init_resource_type(env, "watcher", &init, ERL_NIF_RT_CREATE, NULL);
    deaf = enif_open_resource_type_x(env, "deaf", &none, ERL_NIF_RT_CREATE, NULL);
    *data = "the library's own";
    return boxes == NULL || tried != ERL_NIF_RT_CREATE ? 1 : enif_get_int(env, info, &code) ? code : 0;
}

static ErlNifFunc functions[] = {
    {"kinds", 1, kinds, 0}, {"numbers", 1, numbers, 0}, {"no_float", 0, no_float, 0}, {"atoms", 1, atoms, 0}, {"long_atom", 0, long_atom, 0},
    {"strings", 2, strings, 0}, {"turned", 1, turned, 0}, {"bytes", 1, bytes, 0}, {"part", 3, part, 0}, {"maps", 1, maps, 0},
    {"compared", 2, compared, 0}, {"printed", 1, printed, 0}, {"badarg", 1, badarg, 0}, {"pending", 1, pending, 0}, {"box", 1, box, 0},
    {"boxed", 1, boxed, 0}, {"boxes_gone", 0, boxes_gone, 0}, {"tell", 2, tell, 0}, {"thread", 0, thread, 0}, {"count", 3, count, 0}, {"bounce", 2, bounce, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"dirty", 1, dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND}, {"dirty_io", 1, dirty, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"external", 1, external, 0},
    {"private", 0, private, 0}, {"watcher", 0, watcher, 0}, {"watch", 2, watch, 0}, {"unwatch", 2, unwatch, 0}, {"unwatched", 1, unwatched, 0},
    {"dynamic", 2, dynamic, 0}, {"box_bytes", 1, box_bytes, 0}, {"unique", 1, unique, 0}, {"times", 0, times, 0}, {"variable", 2, variable, 0},
    {"thread_types", 0, thread_types, 0}, {"thread_types_cpu", 0, thread_types, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"thread_types_io", 0, thread_types, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"port", 2, port, 0}, {"queue", 1, queue, 0},
};

#define INIT(module) ERL_NIF_INIT(module, functions, load, NULL, NULL, NULL)
INIT(MODULE)
