%% Compiling at run time, loading, two versions, purge, on_load, code server, corrupt files.
-module(loading).
-export([main/0]).

main() ->
    t:mute(),
    D = t:tmp("loading"),
    t:c(compile_forms, fun() -> {ok, M, B} = compile("-module(cm1). -export([f/0]). f() -> one.", []), {M, is_binary(B), code:load_binary(cm1, "cm1.beam", B), cm1:f()} end),
    t:c(new_version, fun() ->
            B1 = beam("-module(cv). -export([loop/1, v/0]). v() -> 1. loop(P) -> receive local -> P ! v(), loop(P); full -> cv:loop(P) end."),
            B2 = beam("-module(cv). -export([loop/1, v/0]). v() -> 2. loop(P) -> receive local -> P ! v(), loop(P); full -> cv:loop(P) end."),
            {module, cv} = code:load_binary(cv, "cv", B1), S = self(), P = spawn(fun() -> cv:loop(S) end),
            P ! local, A = receive X -> X end, {module, cv} = code:load_binary(cv, "cv", B2), P ! local, B = receive Y -> Y end,
            R = {A, B, cv:v(), erlang:check_old_code(cv), erlang:check_process_code(P, cv), code:soft_purge(cv), code:load_binary(cv, "cv", B1)},
            P ! full, P ! local, C = receive Z -> Z after 200 -> dead end, {R, C, is_process_alive(P), erlang:check_old_code(cv)} end),
    t:c(purge_kills, fun() ->
            B = fun(N) -> beam("-module(cp). -export([w/0, n/0]). n() -> " ++ N ++ ". w() -> receive x -> n() end.") end,
            code:load_binary(cp, "cp", B("1")), {P, M} = spawn_monitor(fun() -> cp:w() end), receive after 20 -> ok end, code:load_binary(cp, "cp", B("2")),
            R = {code:soft_purge(cp), code:purge(cp)}, receive {'DOWN', M, _, P, W} -> {R, W} after 500 -> {R, alive} end end),
    t:c(old_fun, fun() ->
            B = fun(N) -> beam("-module(cf). -export([f/0]). f() -> fun() -> " ++ N ++ " end.") end,
            code:load_binary(cf, "cf", B("1")), F = cf:f(), code:load_binary(cf, "cf", B("2")), G = cf:f(), A = {F(), G()}, code:purge(cf), {A, try F() catch error:{badfun, _} -> badfun; C:R -> {C, R} end, G()} end),
    t:c(delete, fun() -> code:load_binary(cd, "cd", beam("-module(cd). -export([f/0]). f() -> x.")), R = {cd:f(), code:delete(cd), catch element(1, element(2, catch cd:f())), erlang:module_loaded(cd), code:purge(cd), code:delete(cd)}, R end),
    t:c(on_load_ok, fun() -> {code:load_binary(co, "co", beam("-module(co). -export([f/0]). -on_load(i/0). i() -> persistent_term:put(co, loaded), ok. f() -> persistent_term:get(co).")), co:f()} end),
    t:c(on_load_fail, fun() -> {code:load_binary(cx, "cx", beam("-module(cx). -export([f/0]). -on_load(i/0). i() -> nope. f() -> x.")), erlang:module_loaded(cx), catch element(1, element(2, catch cx:f()))} end),
    t:c(on_load_crash, fun() -> {code:load_binary(cy, "cy", beam("-module(cy). -on_load(i/0). i() -> error(x).")), erlang:module_loaded(cy)} end),
    t:c(file, fun() ->
            F = filename:join(D, "cfile.erl"), file:write_file(F, "-module(cfile).\n-export([f/1]).\n-vsn(7).\nf(X) -> X * 2.\n"),
            {ok, cfile} = compile:file(F, [{outdir, D}, debug_info]), true = code:add_patha(D),
            R = {cfile:f(4), code:which(cfile) =:= filename:join(D, "cfile.beam"), code:is_loaded(cfile) =/= false, lists:keyfind(vsn, 1, cfile:module_info(attributes)), code:del_path(D)}, R end),
    t:c(compile_errors, fun() -> [compile_report(S) || S <- ["-module(e1). -export([f/0]).", "-module(e2). f() -> X.", "-module(e3). -export([g/0]). g() -> foo(1).", "-module(e4). -export([f/1]). f(X) -> case X of a -> Y = 1; b -> ok end, Y.", "-module(e5). -export([f/0]). f() -> 1 = 2, a.", "-module(e6). f() -> x."]] end),
    t:c(asm, fun() -> {ok, am, {am, E, _, Fs, _}} = compile("-module(am). -export([f/1]). f(X) -> X + 1.", ['S']), {E, length(Fs), [element(1, I) || {function, f, 1, _, C} <- Fs, I <- C, is_tuple(I)]} end),
    t:c(core, fun() -> {ok, ac, C} = compile("-module(ac). -export([f/1]). f(X) -> {X}.", [to_core]), element(1, C) end),
    t:c(same_beam, fun() -> S = "-module(sb). -export([f/2]). f(A, B) -> [X || X <- A, X > B].", beam(S) =:= beam(S) end),
    t:c(beam_lib, fun() -> B = beam("-module(bl). -export([f/0]). f() -> x."), {ok, {bl, [{exports, E}, {imports, I}]}} = beam_lib:chunks(B, [exports, imports]), {ok, {bl, M}} = beam_lib:md5(B), {E, I, byte_size(M), [C || {C, _} <- element(3, beam_lib:all_chunks(B)), C =/= "Type"]} end),
    t:c(undefined_module, fun() -> {code:which(no_mod), code:load_file(no_mod), code:is_loaded(no_mod), code:ensure_loaded(no_mod), catch no_mod:module_info()} end),
    Beam = beam("-module(bad). -export([f/0]). f() -> lists:seq(1, 3)."),
    t:c(truncated, fun() -> lists:usort([code:load_binary(bad, "bad", binary:part(Beam, 0, N)) || N <- [0, 4, 8, 12, 40, 100, byte_size(Beam) - 60]]) end),
    t:mute(),
    t:c(information, fun() ->
            {ok, bad, Chunks} = beam_lib:all_chunks(Beam),
            [begin
                 {ok, Changed} = beam_lib:build_module(lists:keystore(Chunk, 1, Chunks, {Chunk, Bytes})),
                 case code:load_binary(bad, "bad", Changed) of
                     {module, bad} -> {Chunk, bad:module_info(attributes) =:= [], length(bad:module_info(compile))};
                     Error -> {Chunk, Bytes, Error}
                 end
             end || Chunk <- ["Attr", "CInf", "Dbgi", "Docs"],
                    Bytes <- [<<"no term">>, <<131>>, <<131, 106>>, <<131, 106, 1, 2, 3>>, <<131, 100, 0, 200>>, <<131, 108, 0, 0, 0, 1, 97, 1, 106, 106>>]] end),
    t:c(wrong_name, fun() -> code:load_binary(other_name, "bad", Beam) end),
    t:c(not_beam, fun() -> code:load_binary(bad, "bad", <<"not a beam file at all">>) end),
    t:c(gzipped, fun() -> {code:load_binary(bad, "bad", zlib:gzip(Beam)), bad:f()} end),
    t:c(stripped, fun() -> {ok, {bad, St}} = beam_lib:strip(Beam), {code:load_binary(bad, "bad", St), bad:f(), bad:module_info(compile)} end),
    t:c(sticky, fun() -> code:load_binary(lists, "lists", Beam) end),
    t:c(preloaded, fun() -> {code:which(erlang), code:is_loaded(init), lists:sort(erlang:pre_loaded())} end),
    t:c(paths, fun() -> {filename:basename(code:lib_dir(stdlib)) =/= "", code:lib_dir(nope), filename:basename(code:priv_dir(kernel)), code:add_path("/no/dir"), code:del_path("/no/dir"), code:get_mode(), code:get_object_code(no_mod), element(1, code:get_object_code(lists))} end),
    t:c(all_loaded, fun() -> lists:keymember(?MODULE, 1, code:all_loaded()) end),
    t:c(attributes, fun() -> {lists:sort(proplists:get_keys(?MODULE:module_info(attributes))), lists:sort(proplists:get_keys(?MODULE:module_info(compile))), ?MODULE:module_info(native)} end),
    t:c(parse_transform, fun() -> {ok, Ts, _} = erl_scan:string("f() -> 1."), {ok, F} = erl_parse:parse_form(Ts), erl_parse:normalise({integer, 1, 5}) + tuple_size(F) end),
    t:c(many_modules, fun() -> [begin N = list_to_atom("mm" ++ integer_to_list(I)), code:load_binary(N, "x", beam("-module(" ++ atom_to_list(N) ++ "). -export([f/0]). f() -> " ++ integer_to_list(I) ++ ".")) end || I <- lists:seq(1, 20)], lists:sum([apply(list_to_atom("mm" ++ integer_to_list(I)), f, []) || I <- lists:seq(1, 20)]) end),
    t:c(error_handler, fun() -> {catch error_handler:undefined_function(a, b, []), error_handler:raise_undef_exception(a, b, [])} end).

forms(S) ->
    {ok, Ts, _} = erl_scan:string(S),
    split(Ts, []).
split([], []) -> [];
split([{dot, _} = T | R], A) -> {ok, F} = erl_parse:parse_form(lists:reverse([T | A])), [F | split(R, [])];
split([T | R], A) -> split(R, [T | A]).
compile(S, O) -> compile:forms(forms(S), O).
beam(S) -> {ok, _, B} = compile(S, []), B.
compile_report(S) ->
    case compile(S, [return]) of
        {ok, M, _, W} -> {ok, M, text(W)};
        {error, E, W} -> {error, text(E), text(W)}
    end.
text(L) -> [lists:flatten(M:format_error(E)) || {_, Es} <- L, {_, M, E} <- Es].
