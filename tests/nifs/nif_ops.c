/* A library that does as it is told: calls of the interface, one by one, as a string of operations says (nif_gen.erl).
 *
 * An operation is five bytes: its number, an environment, and three operands. What they mean is in the table below. Everything is kept in
 * numbered places that last from call to call, so that operations can do what they should not, too. Environment 0 is that of the call. */

#include <erl_nif.h>
#include <stdio.h>
#include <string.h>

enum { PLACES = 16, MOST_ITEMS = 4 };

static ERL_NIF_TERM terms[PLACES];
static ErlNifEnv *envs[PLACES], *earlier;
static ErlNifBinary binaries[PLACES];
static void *objects[PLACES];
static ErlNifIOQueue *queues[PLACES];
static ErlNifMapIterator iterators[PLACES];
static ErlNifResourceType *type;
static long alive;

/* What an operation has: its operands, and what it tells. */
struct step {
    ErlNifEnv *call, *env;
    unsigned char e, a, b, c;
    ERL_NIF_TERM arguments, *told;
    const ErlNifPid *to;
};

static void tell(struct step *s, ERL_NIF_TERM term) { *s->told = enif_make_list_cell(s->call, term, *s->told); }
static void tell_number(struct step *s, long number) { tell(s, enif_make_long(s->call, number)); }

/* A term that an operation has made; one that has failed leaves an atom. */
static void put(struct step *s, unsigned char place, int done, const ERL_NIF_TERM *term)
{
    terms[place] = done ? *term : enif_make_atom(s->env, "none");
}

static long sum(const unsigned char *data, size_t size)
{
    long all = 0;
    for (size_t i = 0; i < size; i++)
        all = all * 31 + data[i];
    return all;
}

/* ---- terms */

static void argument(struct step *s)
{
    ERL_NIF_TERM head, tail = s->arguments;
    int done = 0;
    for (int i = 0; i <= s->b; i++)
        done = enif_get_list_cell(s->call, tail, &head, &tail);
    put(s, s->a, done, &head);
}
static void make_int(struct step *s) { terms[s->a] = enif_make_int(s->env, (s->b - 128) * 1000003 + s->c); }
static void make_long(struct step *s) { terms[s->a] = enif_make_long(s->env, (long)((unsigned long)s->b << 56 | s->c)); }
static void make_ulong(struct step *s) { terms[s->a] = enif_make_uint64(s->env, (unsigned long)s->b << 56 | s->c); }
static void make_double(struct step *s) { terms[s->a] = enif_make_double(s->env, (s->b - 128) / 4.0 + s->c); }
static void make_atom(struct step *s)
{
    char name[20];
    snprintf(name, sizeof name, "atom_%d", s->b);
    terms[s->a] = enif_make_atom(s->env, name);
}
static void make_string(struct step *s)
{
    char text[8] = {'s', (char)(s->b | 1), (char)(s->c | 1)};
    terms[s->a] = enif_make_string(s->env, text, ERL_NIF_LATIN1);
}
static void make_tuple(struct step *s) { terms[s->a] = enif_make_tuple3(s->env, terms[s->b], terms[s->c], terms[s->b]); }
static void make_cell(struct step *s) { terms[s->a] = enif_make_list_cell(s->env, terms[s->b], terms[s->c]); }
static void make_list(struct step *s)
{
    ERL_NIF_TERM items[MOST_ITEMS] = {terms[s->b], terms[s->c], terms[s->c], terms[s->b]};
    terms[s->a] = enif_make_list_from_array(s->env, items, MOST_ITEMS);
}
static void make_copy(struct step *s) { terms[s->a] = enif_make_copy(s->env, terms[s->b]); }
static void make_map(struct step *s) { terms[s->a] = enif_make_new_map(s->env); }
static void map_put(struct step *s)
{
    ERL_NIF_TERM map;
    put(s, s->a, enif_make_map_put(s->env, terms[s->a], terms[s->b], terms[s->c], &map), &map);
}
static void map_update(struct step *s)
{
    ERL_NIF_TERM map;
    put(s, s->a, enif_make_map_update(s->env, terms[s->a], terms[s->b], terms[s->c], &map), &map);
}
static void map_remove(struct step *s)
{
    ERL_NIF_TERM map;
    put(s, s->a, enif_make_map_remove(s->env, terms[s->b], terms[s->c], &map), &map);
}
static void map_of_arrays(struct step *s)
{
    ERL_NIF_TERM keys[] = {terms[s->b], terms[s->c]}, map;
    put(s, s->a, enif_make_map_from_arrays(s->env, keys, keys, 2, &map), &map);
}
static void map_value(struct step *s)
{
    ERL_NIF_TERM value;
    put(s, s->a, enif_get_map_value(s->env, terms[s->b], terms[s->c], &value), &value);
}
static void element(struct step *s)
{
    const ERL_NIF_TERM *elements;
    int arity = 0, done = enif_get_tuple(s->env, terms[s->b], &arity, &elements) && arity > 0;
    tell_number(s, arity);
    put(s, s->a, done, done ? &elements[s->c % arity] : NULL);
}
static void cell(struct step *s)
{
    ERL_NIF_TERM head, tail;
    int done = enif_get_list_cell(s->env, terms[s->c], &head, &tail);
    put(s, s->a, done, &head);
    put(s, s->b, done, &tail);
}
static void reverse(struct step *s)
{
    ERL_NIF_TERM list;
    put(s, s->a, enif_make_reverse_list(s->env, terms[s->b], &list), &list);
}
static void compare(struct step *s)
{
    int order = enif_compare(terms[s->a], terms[s->b]);
    tell_number(s, (order > 0) - (order < 0));
}
static void identical(struct step *s) { tell_number(s, enif_is_identical(terms[s->a], terms[s->b]) != 0); }
static void hash(struct step *s) { tell_number(s, (long)enif_hash(ERL_NIF_PHASH2, terms[s->a], 0)); }
static void kind(struct step *s) { tell_number(s, enif_term_type(s->env, terms[s->a])); }
static void lengths(struct step *s)
{
    unsigned length = 0;
    size_t size = 0;
    long number = 0;
    double real = 0;
    tell_number(s, enif_get_list_length(s->env, terms[s->a], &length) ? (long)length : -1);
    tell_number(s, enif_get_map_size(s->env, terms[s->a], &size) ? (long)size : -1);
    tell_number(s, enif_get_int64(s->env, terms[s->a], &number) ? number : -1);
    tell_number(s, enif_get_double(s->env, terms[s->a], &real) ? (long)(real * 4) : -1);
}
static void texts(struct step *s)
{
    char text[64];
    int got = enif_get_string(s->env, terms[s->a], text, sizeof text, ERL_NIF_LATIN1);
    tell_number(s, got > 0 ? sum((unsigned char *)text, strlen(text)) : got);
    got = enif_get_atom(s->env, terms[s->a], text, sizeof text, ERL_NIF_LATIN1);
    tell_number(s, got > 0 ? sum((unsigned char *)text, strlen(text)) : got);
}
static void print(struct step *s)
{
    char text[400];
    int length = enif_snprintf(text, sizeof text, "%T", terms[s->a]);
    // Where there is not room for all, the result is only known not to be less than what is written.
    tell_number(s, length < (int)sizeof text - 1 ? sum((unsigned char *)text, (size_t)length) : -1);
}
static void report(struct step *s) { tell(s, enif_make_copy(s->call, terms[s->a])); }
static void garbage(struct step *s) { terms[s->a] = (ERL_NIF_TERM)s->b << 40 | (ERL_NIF_TERM)s->c << 20 | (s->c & 7); }

/* ---- binaries */

static void alloc_binary(struct step *s)
{
    tell_number(s, enif_alloc_binary(s->b, &binaries[s->a]));
    memset(binaries[s->a].data, s->c, s->b);
}
static void realloc_binary(struct step *s)
{
    size_t old = binaries[s->a].size;
    tell_number(s, enif_realloc_binary(&binaries[s->a], s->b));
    if (s->b > old)
        memset(binaries[s->a].data + old, s->c, s->b - old);
}
static void release_binary(struct step *s) { enif_release_binary(&binaries[s->a]); }
static void copy_binary(struct step *s) { binaries[s->a] = binaries[s->b]; }
static void make_binary(struct step *s) { terms[s->b] = enif_make_binary(s->env, &binaries[s->a]); }
static void look(struct step *s, int done)
{
    tell_number(s, done ? (long)binaries[s->a].size : -1);
    if (done)
        tell_number(s, sum(binaries[s->a].data, binaries[s->a].size));
    else
        enif_alloc_binary(0, &binaries[s->a]);
}
static void inspect(struct step *s)
{
    look(s, s->c & 1 ? enif_inspect_iolist_as_binary(s->env, terms[s->b], &binaries[s->a])
                     : enif_inspect_binary(s->env, terms[s->b], &binaries[s->a]));
}
static void sub_binary(struct step *s)
{
    ErlNifBinary whole;
    int done = enif_inspect_binary(s->env, terms[s->b], &whole);
    size_t from = done && whole.size > 0 ? s->c % whole.size : 0;
    ERL_NIF_TERM part = done ? enif_make_sub_binary(s->env, terms[s->b], from, whole.size - from) : 0;
    put(s, s->a, done, &part);
}
static void new_binary(struct step *s)
{
    unsigned char *data = enif_make_new_binary(s->env, s->b, &terms[s->a]);
    memset(data, s->c, s->b);
}
static void to_external(struct step *s) { look(s, enif_term_to_binary(s->env, terms[s->b], &binaries[s->a])); }
static void from_external(struct step *s)
{
    ERL_NIF_TERM term;
    size_t used = enif_binary_to_term(s->env, binaries[s->b].data, binaries[s->b].size, &term, 0);
    tell_number(s, (long)used);
    put(s, s->a, used > 0, &term);
}

/* ---- objects */

static void gone(ErlNifEnv *env, void *object)
{
    (void)env;
    (void)object;
    __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
}
static void alloc_object(struct step *s)
{
    objects[s->a] = enif_alloc_resource(type, s->b + 1);
    memset(objects[s->a], s->c, s->b + 1);
    __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
}
static void keep_object(struct step *s) { enif_keep_resource(objects[s->a]); }
static void release_object(struct step *s) { enif_release_resource(objects[s->a]); }
static void no_object(struct step *s) { objects[s->a] = &objects[s->b]; }
static void make_object(struct step *s) { terms[s->b] = enif_make_resource(s->env, objects[s->a]); }
static void object_binary(struct step *s)
{
    terms[s->b] = enif_make_resource_binary(s->env, objects[s->a], objects[s->a], enif_sizeof_resource(objects[s->a]));
}
static void get_object(struct step *s)
{
    void *object;
    int done = enif_get_resource(s->env, terms[s->a], type, &object);
    tell_number(s, done ? sum(object, enif_sizeof_resource(object)) : -1);
}

/* ---- environments */

static void alloc_env(struct step *s) { envs[s->e] = enif_alloc_env(); }
static void free_env(struct step *s) { enif_free_env(s->env); }
static void clear_env(struct step *s) { enif_clear_env(s->env); }
static void send(struct step *s)
{
    tell_number(s, enif_send(s->call, s->to, s->e ? s->env : NULL, terms[s->a]));
}
static void in_earlier(struct step *s) { terms[s->a] = enif_make_tuple1(earlier, terms[s->b]); }
static void *elsewhere(void *step)
{
    struct step *s = step;
    terms[s->a] = enif_make_tuple1(s->env, terms[s->b]);
    return NULL;
}
static void in_thread(struct step *s)
{
    ErlNifTid thread;
    void *nothing;
    tell_number(s, enif_thread_create("elsewhere", &thread, elsewhere, s, NULL));
    enif_thread_join(thread, &nothing);
}

/* ---- queues and iterators */

static void create_queue(struct step *s) { queues[s->a] = enif_ioq_create(ERL_NIF_IOQ_NORMAL); }
static void destroy_queue(struct step *s) { enif_ioq_destroy(queues[s->a]); }
static void enqueue(struct step *s)
{
    size_t skip = binaries[s->b].size > 0 ? s->c % binaries[s->b].size : 0;
    tell_number(s, enif_ioq_enq_binary(queues[s->a], &binaries[s->b], skip));
}
static void dequeue(struct step *s)
{
    size_t size = enif_ioq_size(queues[s->a]), left = 0;
    tell_number(s, (long)size);
    tell_number(s, enif_ioq_deq(queues[s->a], size ? s->b % size : 0, &left));
    tell_number(s, (long)left);
}
static void peek(struct step *s)
{
    ERL_NIF_TERM head;
    size_t size = 0;
    put(s, s->b, enif_ioq_peek_head(s->env, queues[s->a], &size, &head), &head);
    tell_number(s, (long)size);
}
static void create_iterator(struct step *s)
{
    int done = enif_map_iterator_create(s->env, terms[s->b], &iterators[s->a], ERL_NIF_MAP_ITERATOR_FIRST);
    tell_number(s, done);
    if (!done)
        enif_map_iterator_create(s->env, enif_make_new_map(s->env), &iterators[s->a], ERL_NIF_MAP_ITERATOR_FIRST);
}
static void next_pair(struct step *s)
{
    ERL_NIF_TERM key, value;
    int done = enif_map_iterator_get_pair(s->env, &iterators[s->a], &key, &value);
    tell_number(s, done);
    put(s, s->b, done, &key);
    put(s, s->c, done, &value);
    enif_map_iterator_next(s->env, &iterators[s->a]);
}
static void destroy_iterator(struct step *s) { enif_map_iterator_destroy(s->env, &iterators[s->a]); }

/* The operations by number, as nif_gen.erl has them. */
static void (*const operations[])(struct step *) = {
    argument, make_int, make_long, make_ulong, make_double, make_atom, make_string, make_tuple, make_cell, make_list,
    make_copy, make_map, map_put, map_update, map_remove, map_of_arrays, map_value, element, cell, reverse,
    compare, identical, hash, kind, lengths, texts, print, report, garbage, alloc_binary,
    realloc_binary, release_binary, copy_binary, make_binary, inspect, sub_binary, new_binary, to_external, from_external, alloc_object,
    keep_object, release_object, no_object, make_object, object_binary, get_object, alloc_env, free_env, clear_env, send,
    in_earlier, in_thread, create_queue, destroy_queue, enqueue, dequeue, peek, create_iterator, next_pair, destroy_iterator,
};
enum { OPERATIONS = sizeof operations / sizeof *operations, SIZE = 5, RETURN = 255 };

/* What the operations tell, the latest first; or, and then it returns 1, what they return. */
static int perform(ErlNifEnv *env, const ErlNifPid *to, ERL_NIF_TERM described, ERL_NIF_TERM arguments, ERL_NIF_TERM *told)
{
    ErlNifBinary text;
    *told = enif_make_list(env, 0);
    if (!enif_inspect_binary(env, described, &text) || text.size % SIZE != 0)
        return *told = enif_make_badarg(env), 1;
    envs[0] = env;
    for (size_t at = 0; at < text.size; at += SIZE) {
        const unsigned char *o = text.data + at;
        if (o[0] == RETURN)
            return *told = terms[o[2] % PLACES], 1;
        struct step s = {env, envs[o[1] % PLACES], o[1] % PLACES, o[2] % PLACES, o[3], o[4], arguments, told, to};
        if (o[0] >= OPERATIONS)
            return *told = enif_make_badarg(env), 1;
        operations[o[0]](&s);
    }
    earlier = env;
    return 0;
}

/* run(Operations, Terms): what the operations have told. */
static ERL_NIF_TERM run(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    ERL_NIF_TERM told;
    ErlNifPid self;
    perform(env, enif_self(env, &self), argv[0], argv[1], &told);
    return told;
}

/* As a tracer, whose state is {Pid, Operations, Terms}: does them at each event, and sends what they have told. */
static ERL_NIF_TERM enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    (void)argv;
    return enif_make_atom(env, "trace");
}

static ERL_NIF_TERM trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    ERL_NIF_TERM told;
    const ERL_NIF_TERM *state;
    int arity;
    ErlNifPid to;
    if (!enif_get_tuple(env, argv[1], &arity, &state) || arity != 3 || !enif_get_local_pid(env, state[0], &to))
        return enif_make_badarg(env);
    if (perform(env, &to, state[1], state[2], &told))
        return told;
    enif_send(env, &to, NULL, enif_make_tuple3(env, argv[0], argv[3], told));
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM count(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    (void)argv;
    return enif_make_long(env, __atomic_load_n(&alive, __ATOMIC_RELAXED));
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    (void)data;
    (void)info;
    type = enif_open_resource_type(env, NULL, "object", gone, ERL_NIF_RT_CREATE, NULL);
    return type == NULL;
}

static ErlNifFunc functions[] = {{"run", 2, run, 0}, {"enabled", 3, enabled, 0}, {"trace", 5, trace, 0}, {"count", 0, count, 0}};

ERL_NIF_INIT(nif_ops, functions, load, NULL, NULL, NULL)
