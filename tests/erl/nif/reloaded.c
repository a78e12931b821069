/* A library for reloaded.erl that tells the process `listener` what is done with it. VERSION is its number, FLAGS how it opens its types. */

#include <erl_nif.h>

static ErlNifResourceType *watched, *plain;

static ERL_NIF_TERM atom(ErlNifEnv *env, const char *name) { return enif_make_atom(env, name); }

static void tell(ErlNifEnv *env, const char *what, int more)
{
    ErlNifPid listener;
    ErlNifEnv *own = enif_alloc_env();
    if (enif_whereis_pid(env, atom(own, "listener"), &listener))
        enif_send(env, &listener, own, enif_make_tuple3(own, atom(own, what), enif_make_int(own, VERSION), enif_make_int(own, more)));
    enif_free_env(own);
}

static void gone(ErlNifEnv *env, void *object)
{
    tell(env, "gone", *(int *)object);
}

static void down(ErlNifEnv *env, void *object, ErlNifPid *pid, ErlNifMonitor *monitor)
{
    (void)pid, (void)monitor;
    tell(env, "down", *(int *)object);
}

static ERL_NIF_TERM object(ErlNifEnv *env, ErlNifResourceType *of, int number)
{
    int *made = enif_alloc_resource(of, sizeof *made);
    *made = number;
    ERL_NIF_TERM term = enif_make_resource(env, made);
    enif_release_resource(made);
    return term;
}

static ERL_NIF_TERM make(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc, (void)argv;
    return enif_make_tuple2(env, object(env, watched, 1), object(env, plain, 2));
}

static ERL_NIF_TERM look(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    void *found;
    int *number = enif_priv_data(env);
    return enif_make_list4(env, enif_make_int(env, VERSION), enif_make_int(env, watched != NULL && enif_get_resource(env, argv[0], watched, &found)),
        enif_make_int(env, plain != NULL && enif_get_resource(env, argv[0], plain, &found)), enif_make_int(env, *number));
}

static ERL_NIF_TERM watch(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    void *found;
    ErlNifPid pid;
    if (!enif_get_resource(env, argv[0], watched, &found) || !enif_get_local_pid(env, argv[1], &pid))
        return enif_make_badarg(env);
    return enif_make_int(env, enif_monitor_process(env, found, &pid, NULL));
}

static ERL_NIF_TERM last(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc, (void)argv;
    tell(env, "last", 0);
    return object(env, watched, 3);
}

/* Tells that it has begun, goes on for a while, and makes an object at the end, whoever is left to have it. */
static ERL_NIF_TERM slow(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    tell(env, "slow", 0);
    ErlNifTime end = enif_monotonic_time(ERL_NIF_MSEC) + 300;
    while (enif_monotonic_time(ERL_NIF_MSEC) < end)
        ;
    return last(env, argc, argv);
}

static ERL_NIF_TERM later(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    tell(env, "later", 0);
    return enif_schedule_nif(env, "last", ERL_NIF_DIRTY_JOB_IO_BOUND, last, argc, argv);
}

static void open_types(ErlNifEnv *env, int *tried)
{
    ErlNifResourceFlags flags = 0;
    ErlNifResourceTypeInit init = {.dtor = gone, .down = down, .members = 3};
    watched = enif_init_resource_type(env, "watched", &init, FLAGS, &flags);
    plain = enif_open_resource_type(env, NULL, "plain", NULL, FLAGS, NULL);
    *tried = 10 * (watched != NULL) + (int)flags;
}

static int *number_of(int number)
{
    int *made = enif_alloc(sizeof *made);
    *made = number;
    return made;
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    int tried, code, rest;
    if (!enif_get_int(env, info, &code))
        return 1;
    open_types(env, &tried);
    tell(env, "load", tried);
    /* So that others come meanwhile. */
    ErlNifTime end = enif_monotonic_time(ERL_NIF_MSEC) + 100;
    while (code == 0 && enif_monotonic_time(ERL_NIF_MSEC) < end)
        ;
    rest = 100 * VERSION;
    *data = number_of(rest);
    return code;
}

static int upgrade(ErlNifEnv *env, void **data, void **old, ERL_NIF_TERM info)
{
    int tried, code;
    if (!enif_get_int(env, info, &code))
        return 1;
    open_types(env, &tried);
    tell(env, "upgrade", tried);
    *data = number_of(100 * VERSION + **(int **)old);
    if (code == 0)
        **(int **)old += 10;
    return code;
}

static void unload(ErlNifEnv *env, void *data)
{
    tell(env, "unload", *(int *)data);
    enif_free(data);
}

static ErlNifFunc functions[] = {
    {"make", 0, make, 0}, {"look", 1, look, 0}, {"watch", 2, watch, 0}, {"slow", 0, slow, ERL_NIF_DIRTY_JOB_CPU_BOUND}, {"later", 0, later, 0},
};

ERL_NIF_INIT(reloaded_nif, functions, load, NULL, upgrade, unload)
