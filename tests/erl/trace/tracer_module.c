/* A tracer module. Its state is {Pid, Answers} or {Pid, Answers, Anything}: what it answers for a tag is in Answers, or `trace`. */
#include <erl_nif.h>
#include <string.h>

static ERL_NIF_TERM tell(ErlNifEnv *env, const char *name, int count, const ERL_NIF_TERM arguments[])
{
    const ERL_NIF_TERM *state;
    ERL_NIF_TERM told[6];
    ErlNifPid to, self;
    int arity;
    if (!enif_get_tuple(env, arguments[1], &arity, &state) || !enif_get_local_pid(env, state[0], &to))
        return enif_make_badarg(env);
    told[0] = enif_make_atom(env, name);
    told[1] = arguments[0];
    memcpy(told + 2, arguments + 2, (count - 2) * sizeof(ERL_NIF_TERM));
    /* Who calls: the tracee, or another. */
    if (count == 5)
        told[count++] = enif_make_atom(env, !enif_self(env, &self) ? "nobody" : enif_is_identical(enif_make_pid(env, &self), arguments[2]) ? "itself" : "another");
    enif_send(env, &to, NULL, enif_make_tuple_from_array(env, told, count == 3 ? 3 : count));
    return enif_make_atom(env, "ok");
}

static ERL_NIF_TERM answer(ErlNifEnv *env, const char *name, const ERL_NIF_TERM arguments[])
{
    const ERL_NIF_TERM *state;
    ERL_NIF_TERM value;
    int arity;
    if (!enif_get_tuple(env, arguments[1], &arity, &state) || arity < 2)
        return enif_make_badarg(env);
    if (arity == 3)
        tell(env, name, 3, arguments);
    if (!enif_get_map_value(env, state[1], arguments[0], &value))
        return enif_make_atom(env, "trace");
    return enif_is_identical(value, enif_make_atom(env, "raise")) ? enif_make_badarg(env) : value;
}

#define ENABLED(NAME) static ERL_NIF_TERM NAME(ErlNifEnv *env, int count, const ERL_NIF_TERM a[]) { return answer(env, #NAME, a); }
#define TRACE(NAME) static ERL_NIF_TERM NAME(ErlNifEnv *env, int count, const ERL_NIF_TERM a[]) { return tell(env, #NAME, count, a); }
#define BOTH(WHAT) ENABLED(enabled_##WHAT) TRACE(trace_##WHAT)
#define ENTRIES(WHAT) {"enabled_" #WHAT, 3, enabled_##WHAT}, {"trace_" #WHAT, 5, trace_##WHAT}

ENABLED(enabled)
TRACE(trace)
#ifdef SPECIAL
BOTH(call) BOTH(garbage_collection) BOTH(ports) BOTH(procs) BOTH(receive) BOTH(running_ports) BOTH(running_procs) BOTH(send)
#endif

static ErlNifFunc functions[] = {
#ifndef INCOMPLETE
    {"trace", 5, trace},
#endif
    {"enabled", 3, enabled},
#ifdef SPECIAL
    ENTRIES(call), ENTRIES(garbage_collection), ENTRIES(ports), ENTRIES(procs), ENTRIES(receive), ENTRIES(running_ports),
    ENTRIES(running_procs), ENTRIES(send)
#endif
};

#define NAMED(MODULE) ERL_NIF_INIT(MODULE, functions, NULL, NULL, NULL, NULL)
NAMED(MODULE)
