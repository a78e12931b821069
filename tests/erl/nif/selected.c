/* A library for selected.erl: pipes, whose ends are waited for. */

#include <erl_nif.h>
#include <fcntl.h>
#include <unistd.h>

struct pipe {
    ErlNifPid owner;
    int ends[2];
};

static ErlNifResourceType *pipes;

static ERL_NIF_TERM atom(ErlNifEnv *env, const char *name) { return enif_make_atom(env, name); }

static void tell(ErlNifEnv *env, struct pipe *pipe, const char *what, int which)
{
    ErlNifEnv *own = enif_alloc_env();
    enif_send(env, &pipe->owner, own, enif_make_tuple2(own, atom(own, what), enif_make_int(own, which)));
    enif_free_env(own);
}

static void gone(ErlNifEnv *env, void *object) { tell(env, object, "gone", 0); }

static void stop(ErlNifEnv *env, void *object, ErlNifEvent event, int direct)
{
    (void)direct;
    struct pipe *pipe = object;
    int which = pipe->ends[0] == event ? 0 : 1;
    close(event);
    pipe->ends[which] = -1;
    tell(env, pipe, "stopped", which);
}

#define NIF(name) static ERL_NIF_TERM name(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])

NIF(open_pipe)
{
    (void)argc, (void)argv;
    struct pipe *made = enif_alloc_resource(pipes, sizeof *made);
    enif_self(env, &made->owner);
    if (pipe2(made->ends, O_NONBLOCK | O_CLOEXEC))
        return enif_make_badarg(env);
    ERL_NIF_TERM term = enif_make_resource(env, made);
    enif_release_resource(made);
    return term;
}

/* Which end of which pipe the first arguments name. */
static struct pipe *pipe_of(ErlNifEnv *env, const ERL_NIF_TERM argv[], int *which)
{
    void *object;
    return enif_get_resource(env, argv[0], pipes, &object) && enif_get_int(env, argv[1], which) && (*which & ~1) == 0 ? object : NULL;
}

NIF(select_end)
{
    (void)argc;
    int which, flags;
    struct pipe *pipe = pipe_of(env, argv, &which);
    ErlNifPid pid;
    if (!pipe || !enif_get_int(env, argv[2], &flags))
        return enif_make_badarg(env);
    int has_pid = enif_get_local_pid(env, argv[3], &pid);
    return enif_make_int(env, enif_select(env, pipe->ends[which], flags, pipe, has_pid ? &pid : NULL, argv[4]));
}

NIF(select_x)
{
    (void)argc;
    int which, flags;
    struct pipe *pipe = pipe_of(env, argv, &which);
    if (!pipe || !enif_get_int(env, argv[2], &flags))
        return enif_make_badarg(env);
    ErlNifEnv *own = enif_alloc_env();
    ERL_NIF_TERM message = enif_make_copy(own, argv[3]);
    int with = enif_select_x(env, pipe->ends[which], flags | ERL_NIF_SELECT_CUSTOM_MSG, pipe, NULL, message, own);
    enif_free_env(own);
    return enif_make_int(env, with);
}

NIF(put)
{
    (void)argc;
    int which;
    struct pipe *pipe = pipe_of(env, argv, &which);
    ErlNifBinary bytes;
    if (!pipe || !enif_inspect_binary(env, argv[2], &bytes))
        return enif_make_badarg(env);
    return enif_make_int(env, (int)write(pipe->ends[which], bytes.data, bytes.size));
}

NIF(take)
{
    int which;
    struct pipe *pipe = pipe_of(env, argv, &which);
    (void)argc;
    char bytes[4096];
    return pipe ? enif_make_int(env, (int)read(pipe->ends[which], bytes, sizeof bytes)) : enif_make_badarg(env);
}

NIF(wrong)
{
    (void)argc, (void)argv;
    void *object = enif_alloc_resource(pipes, sizeof(struct pipe));
    ErlNifPid self;
    enif_self(env, &((struct pipe *)object)->owner), enif_self(env, &self);
    ERL_NIF_TERM none = atom(env, "undefined");
    int bad = enif_select(env, -1, ERL_NIF_SELECT_READ, object, &self, none);
    int cancel = enif_select(env, 998, ERL_NIF_SELECT_READ | ERL_NIF_SELECT_CANCEL, object, &self, none);
    enif_release_resource(object);
    return enif_make_tuple2(env, enif_make_int(env, bad), enif_make_int(env, cancel));
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    (void)data, (void)info;
    ErlNifResourceTypeInit init = {gone, stop, NULL, 2, NULL};
    pipes = enif_init_resource_type(env, "pipe", &init, ERL_NIF_RT_CREATE, NULL);
    return pipes == NULL;
}

static ErlNifFunc functions[] = {
    {"open_pipe", 0, open_pipe, 0}, {"select_end", 5, select_end, 0}, {"select_x", 4, select_x, 0}, {"put", 3, put, 0}, {"take", 2, take, 0},
    {"wrong", 0, wrong, 0},
};

ERL_NIF_INIT(selected, functions, load, NULL, NULL, NULL)
