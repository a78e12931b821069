/* Faults of a library, one of which a VM with a sanitizer is to report (run). */

#include <erl_nif.h>
#include <string.h>

static ErlNifResourceType *type;
static volatile int three[3], counted;

static void *count(void *unused)
{
    for (int i = 0; i < 100000; i++)
        counted++;
    return unused;
}

static ERL_NIF_TERM fault(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    char name[40];
    ErlNifBinary bytes;
    ERL_NIF_TERM term;
    volatile unsigned char *at;
    if (!enif_get_atom(env, argv[0], name, sizeof name, ERL_NIF_LATIN1))
        return enif_make_badarg(env);
#define IS(what) (!strcmp(name, what))
    if (IS("beyond_memory")) {
        at = enif_alloc(10);
        at[10] = 1;
    } else if (IS("freed_memory")) {
        at = enif_alloc(10);
        enif_free((void *)at);
        at[0] = 1;
    } else if (IS("beyond_object")) {
        at = enif_alloc_resource(type, 16);
        at[16] = 1;
    } else if (IS("released_object")) {
        at = enif_alloc_resource(type, 16);
        enif_release_resource((void *)at);
        at[0] = 1;
    } else if (IS("beyond_binary")) {
        at = enif_make_new_binary(env, 100, &term);
        at[100] = 1;
    } else if (IS("released_binary")) {
        enif_alloc_binary(100, &bytes);
        enif_release_binary(&bytes);
        at = bytes.data;
        at[0] = 1;
    } else if (IS("beyond_argument")) {
        enif_inspect_binary(env, argv[1], &bytes);
        memset(bytes.data, 0, bytes.size + 1);
    } else if (IS("beyond_global")) {
        volatile int i = 3;
        three[i] = 1;
    } else if (IS("beyond_stack")) {
        char little[4];
        enif_get_atom(env, argv[0], little, sizeof name, ERL_NIF_LATIN1);
    } else if (IS("environment_freed_twice")) {
        ErlNifEnv *own = enif_alloc_env();
        enif_free_env(own);
        enif_free_env(own);
    } else if (IS("race")) {
        ErlNifTid one, other;
        enif_thread_create("one", &one, count, NULL, NULL);
        enif_thread_create("other", &other, count, NULL, NULL);
        enif_thread_join(one, NULL), enif_thread_join(other, NULL);
    }
    return argv[0];
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info)
{
    (void)data, (void)info;
    type = enif_open_resource_type(env, NULL, "faulty", NULL, ERL_NIF_RT_CREATE, NULL);
    return type == NULL;
}

static ErlNifFunc functions[] = {{"fault", 2, fault, 0}};

ERL_NIF_INIT(faults, functions, load, NULL, NULL, NULL)
