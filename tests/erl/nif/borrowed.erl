%% What packaged libraries take from OTP's emulator without a word: that 0 is no term, and the libraries that it is linked with.
-module(borrowed).
-export([main/0, number/1, first/1, sum/1, compressor/0]).
-compile([nowarn_unused_function]).

number(_) -> erlang:nif_error(not_loaded).
first(_) -> erlang:nif_error(not_loaded).
sum(_) -> erlang:nif_error(not_loaded).
compressor() -> erlang:nif_error(not_loaded).

main() ->
    ok = file:set_cwd(t:tmp("borrowed")),
    ok = file:write_file("borrowed.c", source()),
    Include = filename:join([code:root_dir(), "usr", "include"]),
    "" = os:cmd("cc -shared -fPIC -I" ++ Include ++ " -o borrowed.so borrowed.c"),
    t:c(load, fun() -> erlang:load_nif(filename:absname("borrowed"), 0) end),
    t:each(number, ["0", "7", "-7", "x", "", "0x"], fun number/1),
    t:each(first, [[0], [1], [[]], [], [0 | 1]], fun first/1),
    t:each(sum, [[], [0], [0, 0, 0], [1, 0, 2]], fun sum/1),
    t:c(same, fun() -> {number("0") =:= 0, number("0") =:= hd(first([0])), term_to_binary(number("0")), #{0 => here}} end),
    t:c(key, fun() -> {maps:get(number("0"), #{0 => here}), element(number("1"), {a}), [number("0") + 1, number("0") * 2]} end),
    t:c(compressor, fun compressor/0).

source() ->
    "#include <erl_nif.h>\n"
    "#include <stdlib.h>\n"
    "extern const char *zlibVersion(void);\n"
    %% A number, or no term.
    "static ERL_NIF_TERM read(ErlNifEnv *env, const char *text) {\n"
    "    char *end;\n"
    "    long value = strtol(text, &end, 10);\n"
    "    return *text && !*end ? enif_make_long(env, value) : 0;\n"
    "}\n"
    "static ERL_NIF_TERM number(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "    char text[20];\n"
    "    if (!enif_get_string(env, argv[0], text, sizeof text, ERL_NIF_LATIN1)) return enif_make_badarg(env);\n"
    "    ERL_NIF_TERM made = read(env, text);\n"
    "    return made ? made : enif_make_atom(env, \"none\");\n"
    "}\n"
    "static ERL_NIF_TERM first(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "    ERL_NIF_TERM head = 0, tail;\n"
    "    enif_get_list_cell(env, argv[0], &head, &tail);\n"
    "    return head ? enif_make_list_cell(env, head, enif_make_list(env, 1, head)) : enif_make_atom(env, \"none\");\n"
    "}\n"
    "static ERL_NIF_TERM sum(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "    ERL_NIF_TERM list = argv[0], head, total = 0;\n"
    "    while (enif_get_list_cell(env, list, &head, &list)) {\n"
    "        int a = 0, b = 0;\n"
    "        if (total) enif_get_int(env, total, &a);\n"
    "        enif_get_int(env, head, &b);\n"
    "        total = enif_make_int(env, a + b);\n"
    "    }\n"
    "    ERL_NIF_TERM both[2] = {total ? total : enif_make_atom(env, \"none\"), enif_make_int(env, 0)};\n"
    "    return enif_make_tuple_from_array(env, both, 2);\n"
    "}\n"
    "static ERL_NIF_TERM compressor(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {\n"
    "    return enif_make_int(env, zlibVersion()[0] - '0');\n"
    "}\n"
    "static ErlNifFunc functions[] = {{\"number\", 1, number}, {\"first\", 1, first}, {\"sum\", 1, sum}, {\"compressor\", 0, compressor}};\n"
    "ERL_NIF_INIT(borrowed, functions, NULL, NULL, NULL, NULL)\n".
