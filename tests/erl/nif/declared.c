/* One function under several names (ENTRIES), for modules that declare which of theirs may be NIFs (declared.erl). */

#include <erl_nif.h>

static ERL_NIF_TERM here(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    (void)argv;
    return enif_make_atom(env, "in_c");
}

static ErlNifFunc functions[] = {ENTRIES};

ERL_NIF_INIT(declared_nif, functions, NULL, NULL, NULL, NULL)
