/* A library for soak_libraries.erl. Its objects own memory and watch processes; VERSION tells its builds apart, which take over from each other.
   What is counted outlives each of them, until the last object and the last library is gone. */

#include <erl_nif.h>
#include <stdatomic.h>
#include <string.h>

struct counts {
    atomic_int holders, alive, downs;
};

struct object {
    struct counts *counts;
    char *memory;
    size_t size;
};

static ErlNifResourceType *objects;

static void let_go(struct counts *counts)
{
    if (atomic_fetch_sub(&counts->holders, 1) == 1)
        enif_free(counts);
}

static void gone(ErlNifEnv *env, void *at)
{
    struct object *object = at;
    (void)env;
    enif_free(object->memory);
    atomic_fetch_sub(&object->counts->alive, 1);
    let_go(object->counts);
}

static void down(ErlNifEnv *env, void *at, ErlNifPid *pid, ErlNifMonitor *monitor)
{
    (void)env, (void)pid, (void)monitor;
    atomic_fetch_add(&((struct object *)at)->counts->downs, 1);
}

/* make(Size): an object with so many bytes. */
static ERL_NIF_TERM make(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned size;
    (void)argc;
    if (!enif_get_uint(env, argv[0], &size) || size > 1 << 20)
        return enif_make_badarg(env);
    struct object *object = enif_alloc_resource(objects, sizeof *object);
    object->counts = enif_priv_data(env);
    atomic_fetch_add(&object->counts->holders, 1);
    atomic_fetch_add(&object->counts->alive, 1);
    object->memory = enif_alloc(size + 1);
    object->size = size;
    memset(object->memory, size & 255, size + 1);
    ERL_NIF_TERM term = enif_make_resource(env, object);
    enif_release_resource(object);
    return term;
}

/* bytes(Object): its memory as a binary that keeps it. */
static ERL_NIF_TERM bytes(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    void *at;
    (void)argc;
    if (!enif_get_resource(env, argv[0], objects, &at))
        return enif_make_badarg(env);
    return enif_make_resource_binary(env, at, ((struct object *)at)->memory, ((struct object *)at)->size);
}

/* watch(Object, Pid) */
static ERL_NIF_TERM watch(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    void *at;
    ErlNifPid pid;
    (void)argc;
    if (!enif_get_resource(env, argv[0], objects, &at) || !enif_get_local_pid(env, argv[1], &pid))
        return enif_make_badarg(env);
    return enif_make_int(env, enif_monitor_process(env, at, &pid, NULL));
}

/* pass(Pid, Term): sends it in an environment of its own. */
static ERL_NIF_TERM pass(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid pid;
    (void)argc;
    if (!enif_get_local_pid(env, argv[0], &pid))
        return enif_make_badarg(env);
    ErlNifEnv *own = enif_alloc_env();
    int sent = enif_send(env, &pid, own, enif_make_copy(own, argv[1]));
    enif_free_env(own);
    return enif_make_int(env, sent);
}

static ERL_NIF_TERM counted(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct counts *counts = enif_priv_data(env);
    (void)argc, (void)argv;
    return enif_make_tuple3(env, enif_make_int(env, VERSION), enif_make_int(env, atomic_load(&counts->alive)), enif_make_int(env, atomic_load(&counts->downs)));
}

static int open_types(ErlNifEnv *env)
{
    ErlNifResourceTypeInit init = {.dtor = gone, .down = down, .members = 3};
    objects = enif_init_resource_type(env, "objects", &init, ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, NULL);
    return objects == NULL;
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    (void)info;
    struct counts *counts = enif_alloc(sizeof *counts);
    atomic_init(&counts->holders, 1);
    atomic_init(&counts->alive, 0);
    atomic_init(&counts->downs, 0);
    *data = counts;
    return open_types(env);
}

static int upgrade(ErlNifEnv *env, void **data, void **old, ERL_NIF_TERM info)
{
    (void)info;
    *data = *old;
    atomic_fetch_add(&((struct counts *)*data)->holders, 1);
    return open_types(env);
}

static void unload(ErlNifEnv *env, void *data)
{
    (void)env;
    let_go(data);
}

static ErlNifFunc functions[] = {
    {"make", 1, make, 0}, {"make_dirty", 1, make, ERL_NIF_DIRTY_JOB_CPU_BOUND}, {"bytes", 1, bytes, 0}, {"watch", 2, watch, 0}, {"pass", 2, pass, 0}, {"counted", 0, counted, 0},
};

ERL_NIF_INIT(soak_nif, functions, load, NULL, upgrade, unload)
